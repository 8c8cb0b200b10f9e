package guest

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/spawn"
	"kqueen.io/kqueen/internal/workers/node"
)

// firstSocket is the open file by which process 1 is told what to do.
const firstSocket = 3

// birth is what process 1 is told: all that it has to know of its machine.
type birth struct {
	Hostname string           `json:"hostname"`
	Cgroups  node.Hierarchies `json:"cgroups"`
}

// Begin is process 1 of a new machine, in namespaces of its own. It makes itself a root of what is on its stage, and
// executes the program again with again: only so do all its threads see the cgroups as the machine does. It returns only on
// an error.
func Begin(program string, again []string) error {
	// The thread that executes becomes the process, with the namespaces that it is in.
	runtime.LockOSThread()
	socket, err := unix.FcntlInt(firstSocket, unix.F_DUPFD_CLOEXEC, 0) // the other is for the second life
	if err != nil {
		return fmt.Errorf("open the socket of process 1: %w", err)
	}
	conn, err := spawn.Conn(os.NewFile(uintptr(socket), "socket"))
	if err != nil {
		return err
	}
	var b birth
	if _, err := spawn.Receive(conn, &b); err != nil {
		return fmt.Errorf("hear what the machine is: %w", err)
	}
	err = b.begin()
	if err == nil {
		err = fmt.Errorf("execute %s: %w", program, unix.Exec(program, append([]string{program}, again...), os.Environ()))
	}
	return errors.Join(err, spawn.Send(conn, spawn.Reply{Error: err.Error()}))
}

func (b birth) begin() error {
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("make the machine's view of cgroups: %w", err)
	}
	if err := unix.Sethostname([]byte(b.Hostname)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	// What came along is locked as it is. A second mount of it can become the root.
	if err := unix.Mount("/"+stageTree, "/"+stageTree, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount the machine's root: %w", err)
	}
	if err := unix.Chdir("/" + stageTree); err != nil {
		return err
	}
	for _, m := range append(ownMounts(), cgroupMounts(b.Cgroups)...) {
		if err := m.make(); err != nil {
			return fmt.Errorf("mount /%s: %w", m.at, err)
		}
	}
	for name, to := range b.Cgroups.Links {
		if err := os.Symlink(to, filepath.Join(cgroupsAt, name)); err != nil {
			return err
		}
	}
	if err := changeRoot("."); err != nil {
		return err
	}
	// As on other hosts: pods may ask that what is mounted shows elsewhere.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share mounts with pods: %w", err)
	}
	return nil
}

// fresh is a mount that a machine makes for itself, so that it is its users' own; at is below the root.
type fresh struct {
	at, kind, options string
	flags             uintptr
	optional          bool // this kernel may not have it
}

const (
	cgroupsAt = "sys/fs/cgroup"
	plain     = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
)

func ownMounts() []fresh {
	return []fresh{
		{at: "proc", kind: "proc", flags: plain},
		{at: "sys", kind: "sysfs", flags: plain},
		{at: "dev/pts", kind: "devpts", flags: unix.MS_NOSUID | unix.MS_NOEXEC, options: "newinstance,ptmxmode=0666,mode=0620"},
		{at: "dev/shm", kind: "tmpfs", flags: plain, options: "mode=1777"},
		{at: "dev/mqueue", kind: "mqueue", flags: plain, optional: true},
	}
}

// cgroupMounts show the machine its own cgroups as if there were no others. It is pure.
func cgroupMounts(h node.Hierarchies) []fresh {
	if h.Unified {
		return []fresh{{at: cgroupsAt, kind: "cgroup2", flags: plain}}
	}
	all := []fresh{{at: cgroupsAt, kind: "tmpfs", flags: plain, options: "mode=0755"}}
	for _, c := range h.Controllers {
		all = append(all, fresh{at: filepath.Join(cgroupsAt, c.Dir), kind: "cgroup", flags: plain, options: c.Options})
	}
	return all
}

func (m fresh) make() error {
	if err := os.MkdirAll(m.at, folderMode); err != nil {
		return err
	}
	err := unix.Mount(m.kind, m.at, m.kind, m.flags, m.options)
	if m.optional && errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// Live is the second life of process 1: it starts what it is asked to and collects what ends, until the outer process is
// gone. With it the machine ends.
func Live(log *slog.Logger) error {
	unix.CloseOnExec(firstSocket)
	conn, err := spawn.Conn(os.NewFile(firstSocket, "socket"))
	if err != nil {
		return err
	}
	defer conn.Close()
	go reap()
	if err := spawn.Send(conn, spawn.Reply{}); err != nil {
		return err
	}
	log.Info("machine is ready to start programs")
	return spawn.Serve(conn, spawn.Here)
}

// reap collects the processes that have ended: process 1 is the parent of all whose own is gone.
func reap() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	for {
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if pid <= 0 && !errors.Is(err, unix.EINTR) {
				break
			}
		}
		<-ended
	}
}

// awaitBirth waits until process 1 has made itself a machine.
func awaitBirth(conn *net.UnixConn, b birth) error {
	if err := spawn.Send(conn, b); err != nil {
		return err
	}
	var said spawn.Reply
	if _, err := spawn.Receive(conn, &said); err != nil {
		return fmt.Errorf("process 1 of the machine says nothing: %w", err)
	}
	if said.Error != "" {
		return fmt.Errorf("process 1 of the machine: %.1000s", said.Error)
	}
	return nil
}
