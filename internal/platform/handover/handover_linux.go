// Package handover gives the port of a process to the one that takes its place, so that no connection is refused or cut when a program is
// replaced: both accept from the same queue of the kernel until the first one leaves.
//
// It hides how an open socket is passed from process to process (SCM_RIGHTS, unix(7)), and how the one that leaves is asked to.
// A process offers its port in a folder that only its own user may enter; each that begins asks there first. Processes that KQueen's
// supervisor replaces while they run import it, and the supervisor, which asks them.
package handover

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Signal asks a process to leave: to accept nothing more, and to end when what it has accepted has ended.
const Signal = unix.SIGUSR1

// Asked returns a channel that is closed when this process is asked to leave.
func Asked() <-chan struct{} {
	signals, asked := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, Signal)
	go func() {
		<-signals
		close(asked)
	}()
	return asked
}

const (
	// patience bounds each step of passing a socket on.
	patience = 5 * time.Second
	suffix   = ".sock"
	// unready ends the name of a socket that does not listen yet: one that is asked then refuses, as those of dead processes do.
	unready = ".new"
)

// Listen takes the port at address over from a process that offers it in folder, or opens it where none does. taken says which.
func Listen(ctx context.Context, folder, address string) (l net.Listener, taken bool, err error) {
	want, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, false, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, false, fmt.Errorf("look for the process that has the port: %w", err)
	}
	if got := offered(ctx, folder, entries, want); got != nil {
		return got, true, nil
	}
	l, err = new(net.ListenConfig).Listen(ctx, "tcp", address)
	return l, false, err
}

// Offered says whether a process offers the port at address in folder: one that begins will get it there.
func Offered(ctx context.Context, folder, address string) bool {
	want, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return false
	}
	entries, _ := os.ReadDir(folder) // without one nothing is offered
	l := offered(ctx, folder, entries, want)
	return l != nil && l.Close() == nil
}

// offered gets the port that is wanted from the process that offers it; nil where none does.
func offered(ctx context.Context, folder string, entries []os.DirEntry, want *net.TCPAddr) net.Listener {
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		got, err := ask(ctx, folder, e.Name())
		switch {
		case errors.Is(err, unix.ECONNREFUSED): // it has ended
			_ = os.Remove(filepath.Join(folder, e.Name()))
		case err != nil: // it ends just now, or hangs
		case same(got.Addr(), want):
			return got
		default:
			_ = got.Close()
		}
	}
	return nil
}

// same says whether a port is the one that is wanted. No address is any address.
func same(got net.Addr, want *net.TCPAddr) bool {
	have, ok := got.(*net.TCPAddr)
	if !ok || have.Port != want.Port {
		return false
	}
	all := func(ip net.IP) bool { return len(ip) == 0 || ip.IsUnspecified() }
	return have.IP.Equal(want.IP) || all(have.IP) && all(want.IP)
}

// ask gets the socket that a process offers.
func ask(ctx context.Context, folder, name string) (net.Listener, error) {
	conn, err := within(folder, func(short string) (net.Conn, error) {
		return (&net.Dialer{Timeout: patience}).DialContext(ctx, "unix", filepath.Join(short, name))
	})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), rights) //nolint:dogsled // that is what the call has
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return nil, err
	}
	if len(messages) != 1 {
		return nil, errors.New("no socket came")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	if len(fds) != 1 {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
		return nil, errors.New("it is not one socket that came")
	}
	file := os.NewFile(uintptr(fds[0]), "port")
	defer file.Close()
	return net.FileListener(file)
}

// Offer gives l, a port, to each process of the same user, or of the user whose folder it is, that asks in folder, until ctx ends. l stays the caller's, too. What keeps it
// from that, such as a disk that is full, is given to failed, and it tries again after a minute.
func Offer(ctx context.Context, folder string, l net.Listener, failed func(error)) {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		if err := offerOnce(ctx, folder, l); err != nil {
			failed(fmt.Errorf("offer %s to the process that comes next: %w", l.Addr(), err))
		}
		again.Reset(time.Minute)
	}
}

func offerOnce(ctx context.Context, folder string, l net.Listener) error {
	port, ok := l.(*net.TCPListener)
	if !ok {
		return errors.New("it is no TCP port")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	name := rand.Text() + suffix
	at, err := listenAs(folder, name)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(filepath.Join(folder, name)) }()
	defer context.AfterFunc(ctx, func() { _ = at.Close() })()
	users, err := usersOf(folder)
	if err == nil && users[0] != users[1] {
		err = letConnect(folder, name)
	}
	if err != nil {
		return errors.Join(err, at.Close())
	}
	for {
		conn, err := at.AcceptUnix()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return errors.Join(err, at.Close())
		}
		give(conn, port, users)
	}
}

// listenAs opens a socket that listens from when its name is there.
func listenAs(folder, name string) (*net.UnixListener, error) {
	sweep(folder)
	at, err := within(folder, func(short string) (*net.UnixListener, error) {
		return net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(short, name+unready)})
	})
	if err != nil {
		return nil, err
	}
	at.SetUnlinkOnClose(false) // its short name means another folder by then
	if err := os.Rename(filepath.Join(folder, name+unready), filepath.Join(folder, name)); err != nil {
		return nil, errors.Join(err, at.Close(), os.Remove(filepath.Join(folder, name+unready)))
	}
	return at, nil
}

// sweep removes what processes left that were killed before their sockets listened.
func sweep(folder string) {
	entries, _ := os.ReadDir(folder) // one that cannot be read is told by what comes next
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasSuffix(e.Name(), unready) && time.Since(info.ModTime()) > time.Minute {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// give passes a port on. A process that gets none opens its own, and says that it is taken.
func give(conn *net.UnixConn, port *net.TCPListener, users []uint32) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	raw, err := port.SyscallConn()
	if err != nil || !slices.Contains(users, userOf(conn)) {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _, _ = conn.WriteMsgUnix([]byte{1}, unix.UnixRights(int(fd)), nil) })
}

// usersOf are those to whose processes a port is given: this one's own, and the one who has the folder. A gateway that holds the port of a
// program of another user offers it in that program's folder.
func usersOf(folder string) ([]uint32, error) {
	info, err := os.Stat(folder)
	if err != nil {
		return nil, err
	}
	return []uint32{uint32(os.Geteuid()), info.Sys().(*syscall.Stat_t).Uid}, nil
}

// letConnect lets the user of a folder, which no other one may enter, connect to a socket there. The user may have put something else in its place,
// which is left alone.
func letConnect(folder, name string) error {
	fd, err := unix.Open(filepath.Join(folder, name), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return errors.Join(err, errors.New("it is no socket"))
	}
	return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o666)
}

// stranger is a user to whom no folder belongs.
const stranger = ^uint32(0)

// userOf is the user of the process that asks.
func userOf(conn *net.UnixConn) uint32 {
	raw, err := conn.SyscallConn()
	if err != nil {
		return stranger
	}
	var by *unix.Ucred
	failed := raw.Control(func(fd uintptr) { by, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if failed != nil || err != nil {
		return stranger
	}
	return by.Uid
}

// within names a folder by the open directory: the kernel takes no name of a socket of more than 107 bytes, and data directories may
// be longer than that.
func within[T any](folder string, use func(short string) (T, error)) (T, error) {
	d, err := os.Open(folder)
	if err != nil {
		var none T
		return none, err
	}
	defer d.Close()
	return use(fmt.Sprintf("/proc/self/fd/%d", d.Fd()))
}
