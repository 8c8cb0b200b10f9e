//go:build linux

package spawn

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// network keeps the borders of messages.
const network = "unixpacket"

// maxFiles is how many open files one message brings.
const maxFiles = 1

// Send writes one message, with open files.
func Send(conn *net.UnixConn, message any, files ...*os.File) error {
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	if len(data) > maxMessage {
		return fmt.Errorf("write a message: it has %d bytes, more than %d", len(data), maxMessage)
	}
	var rights []byte
	if len(files) > 0 {
		numbers := make([]int, len(files))
		for i, f := range files {
			numbers[i] = int(f.Fd())
		}
		rights = unix.UnixRights(numbers...)
	}
	if _, _, err := conn.WriteMsgUnix(data, rights, nil); err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	return nil
}

// Receive reads one message, and the open file that came with it, if one did. The end of the connection is io.EOF.
func Receive(conn *net.UnixConn, message any) (*os.File, error) {
	data, rights := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*maxFiles))
	n, rn, flags, _, err := conn.ReadMsgUnix(data, rights)
	if err != nil {
		return nil, err
	}
	file, err := fileOf(rights[:rn])
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.New("read a message: it is too long, or brings too many files")
	}
	if err == nil {
		err = decode(data[:n], message)
	}
	if err != nil && file != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, err
}

// fileOf is the file in a control message; nil for none. More than one are closed.
func fileOf(rights []byte) (*os.File, error) {
	if len(rights) == 0 {
		return nil, nil //nolint:nilnil // a message without a file
	}
	parts, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	var all []int
	for _, part := range parts {
		numbers, err := unix.ParseUnixRights(&part)
		if err == nil {
			all = append(all, numbers...)
		}
	}
	for _, number := range all {
		unix.CloseOnExec(number)
	}
	if len(all) == 1 {
		return os.NewFile(uintptr(all[0]), "received"), nil
	}
	for _, number := range all {
		_ = unix.Close(number)
	}
	return nil, fmt.Errorf("read a message: it brings %d files, not one", len(all))
}

// Listen opens a socket at path, in place of one that an earlier life has left.
func Listen(path string) (*net.UnixListener, error) {
	if err := unix.Unlink(path); err != nil && !errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("remove what an earlier life has left: %w", err)
	}
	var l *net.UnixListener
	err := byFolder(path, func(short string) (err error) {
		l, err = net.ListenUnix(network, &net.UnixAddr{Net: network, Name: short})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // its short name means another folder by then
	return l, nil
}

// Dial connects to the socket at path.
func Dial(path string) (*net.UnixConn, error) {
	var conn *net.UnixConn
	err := byFolder(path, func(short string) (err error) {
		conn, err = net.DialUnix(network, nil, &net.UnixAddr{Net: network, Name: short})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	return conn, nil
}

// byFolder names a socket by its open folder: the kernel takes no name of more than 107 bytes, and data directories may
// be longer than that.
func byFolder(path string, use func(short string) error) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(use(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), filepath.Base(path))), d.Close())
}

// Pair are two connected ends: one for this process, and one as a file for a child.
func Pair() (*net.UnixConn, *os.File, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("create a pair of sockets: %w", err)
	}
	theirs := os.NewFile(uintptr(ends[1]), "socket of a child")
	ours, err := Conn(os.NewFile(uintptr(ends[0]), "socket to a child"))
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}

// Conn makes a connection of an open socket, and takes it over.
func Conn(file *os.File) (*net.UnixConn, error) {
	conn, err := net.FileConn(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("take over a socket: %w", err)
	}
	packets, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("take over a socket: it is a %T", conn), conn.Close())
	}
	return packets, nil
}
