package supervise

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/osthread"
)

const (
	// newNamespaces are those of an isolated component. Its network is the host's until it makes its own.
	newNamespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC
	// joinedNamespaces are those that a component within another joins.
	joinedNamespaces = newNamespaces | unix.CLONE_NEWNET
)

// identity is one process for good: pids are given away again.
type identity struct {
	pid  int
	born uint64 // start time, in clock ticks after boot
}

// execute starts a program in the namespaces of the process, or in ours when there is none, and returns its pid as we
// see it.
func execute(within *identity, path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	if within == nil {
		pid, _, err := syscall.StartProcess(path, argv, attr)
		return pid, err
	}
	type started struct {
		pid int
		err error
	}
	answer := make(chan started, 1)
	osthread.Spend(func() {
		if err := within.join(); err != nil {
			answer <- started{0, err}
			return
		}
		pid, _, err := syscall.StartProcess(path, argv, attr)
		answer <- started{pid, err}
	})
	a := <-answer
	return a.pid, a.err
}

// join moves the calling thread into the namespaces of the process. Of its process namespace only the thread's children
// become part.
func (i identity) join() (err error) {
	fd, err := unix.PidfdOpen(i.pid, 0)
	if err != nil {
		return fmt.Errorf("open pidfd of %d: %w", i.pid, err)
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	// While the pidfd is open the pid is not given away, so that what is read now is of this process.
	if st, err := readStat(i.pid); err != nil || st.start != i.born {
		return fmt.Errorf("pid %d: %w", i.pid, unix.ESRCH)
	}
	// A thread that shares its root and working directory with others may not change its mounts.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Setns(fd, joinedNamespaces); err != nil {
		return fmt.Errorf("join the namespaces of %d: %w", i.pid, err)
	}
	return nil
}
