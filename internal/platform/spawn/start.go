//go:build linux

package spawn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience bounds one start: executing a program takes milliseconds, on a host that is overloaded seconds.
const patience = 20 * time.Second

// Start has the process at the other end start a program that prints to log. It returns the pidfd of the program, which
// may have ended already. One conversation at a time may use a connection.
func Start(conn *net.UnixConn, p Program, log *os.File) (*os.File, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if err := Send(conn, p, log); err != nil {
		return nil, err
	}
	var reply Reply
	pidfd, err := Receive(conn, &reply)
	if err == nil {
		err = reply.err()
	}
	if err == nil && pidfd == nil {
		err = errors.New("the answer brings no process")
	}
	if err != nil {
		if pidfd != nil {
			err = errors.Join(err, pidfd.Close())
		}
		return nil, err
	}
	return pidfd, nil
}

// Serve answers requests until the other end closes the connection, which is no error. A request that cannot be
// understood ends the connection.
func Serve(conn *net.UnixConn, start func(Program, *os.File) (*os.File, error)) error {
	for {
		var p Program
		log, err := Receive(conn, &p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && log == nil {
			err = errors.New("a request brings no file for what the program prints")
		}
		if err != nil {
			return err
		}
		if err := answer(conn, p, log, start); err != nil {
			return err
		}
	}
}

// answer starts one program, and closes what came and went.
func answer(conn *net.UnixConn, p Program, log *os.File, start func(Program, *os.File) (*os.File, error)) error {
	defer log.Close()
	err := p.check()
	var pidfd *os.File
	if err == nil {
		pidfd, err = start(p, log)
	}
	if err != nil {
		return Send(conn, Reply{Error: err.Error()})
	}
	return errors.Join(Send(conn, Reply{}, pidfd), pidfd.Close())
}

// Here starts a program as a child of this process, in a session of its own.
func Here(p Program, log *os.File) (*os.File, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	fd := -1
	_, _, err = syscall.StartProcess(p.Path, p.Args, &syscall.ProcAttr{
		Dir: p.Dir, Env: p.Env, Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &fd},
	})
	if err != nil {
		return nil, fmt.Errorf("execute %s: %w", p.Path, err)
	}
	if fd < 0 {
		return nil, errors.New("this kernel gives no pidfd; it has to be Linux 5.4 or newer")
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// PID is the process of a pidfd as this process numbers it (/proc/<pid>/fdinfo, proc_pid_fdinfo(5)). One that is gone,
// or of a namespace that is not within ours, is an error.
func PID(pidfd *os.File) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", pidfd.Fd()))
	if err != nil {
		return 0, err
	}
	pid, err := pidIn(data)
	if err != nil {
		return 0, err
	}
	if pid <= 0 {
		return 0, fmt.Errorf("the process has ended already: %w", syscall.ESRCH)
	}
	return pid, nil
}

// pidIn reads the process from what the kernel says of a pidfd.
func pidIn(fdinfo []byte) (int, error) {
	for line := range strings.Lines(string(bytes.ToValidUTF8(fdinfo, nil))) {
		if value, ok := strings.CutPrefix(line, "Pid:"); ok {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, errors.New("the file is no pidfd")
}
