package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/spawn"
)

// StartSocket is the name of the socket, in the workload's directory, at which a component starts those that run within
// it, as package spawn says.
func StartSocket(component string) string { return component + ".sock" }

// execute starts a program, by the process that listens at the socket within or by ourselves when that is empty. It
// returns the program's pid as we see it, and a pidfd.
func execute(l launch, argv []string, null, log *os.File) (pid, fd int, err error) {
	if l.within != "" {
		return executeWithin(l, argv, log)
	}
	fd = -1
	attr := &syscall.ProcAttr{
		Dir: l.dir, Env: l.env, Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &fd},
	}
	if pid, err = executeHere(l, argv, attr); err != nil || fd >= 0 {
		return pid, fd, err
	}
	// A kernel without CLONE_PIDFD; an unreaped child's pid is not recycled.
	if fd, err = unix.PidfdOpen(pid, 0); err != nil {
		return 0, -1, errors.Join(fmt.Errorf("open pidfd of %d: %w", pid, err), unix.Kill(pid, unix.SIGKILL))
	}
	return pid, fd, nil
}

// executeWithin asks the component that has the namespaces.
func executeWithin(l launch, argv []string, log *os.File) (pid, fd int, err error) {
	conn, err := spawn.Dial(l.within)
	if err != nil {
		return 0, -1, err
	}
	defer conn.Close()
	pidfd, err := spawn.Start(conn, spawn.Program{Path: l.path, Args: argv, Env: l.env, Dir: l.dir}, log)
	if err != nil {
		return 0, -1, err
	}
	defer pidfd.Close()
	if pid, err = spawn.PID(pidfd); err != nil {
		return 0, -1, err
	}
	if fd, err = unix.FcntlInt(pidfd.Fd(), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return 0, -1, fmt.Errorf("keep the pidfd of %d: %w", pid, err)
	}
	return pid, fd, nil
}

// within is the socket at which a component is to be started; empty for us. Its folder and its home are those of the
// place where it runs then.
func (wl *workload) within(c Component) (socket, dir string) {
	if c.Within == "" {
		return "", wl.dir
	}
	return filepath.Join(wl.dir, StartSocket(c.Within)), "/"
}
