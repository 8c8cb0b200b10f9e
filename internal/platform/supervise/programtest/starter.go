package programtest

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"

	"kqueen.io/kqueen/internal/platform/spawn"
)

// initSocket is the open file by which process 1 of a starter hears what it is to start.
const initSocket = 3

// startFor makes process namespaces, whose process 1 starts what is asked for at the socket.
func startFor(socket string) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	conn, theirs, err := spawn.Pair()
	if err != nil {
		return err
	}
	_, err = os.StartProcess(path, []string{path, "-init"}, &os.ProcAttr{
		Env: Env(), Files: []*os.File{nil, os.Stdout, os.Stderr, theirs},
		Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC},
	})
	if err := errors.Join(err, theirs.Close()); err != nil {
		return err
	}
	l, err := spawn.Listen(socket)
	if err != nil {
		return err
	}
	go accept(l, conn)
	return nil
}

// accept hands what is asked for on, one request at a time.
func accept(l *net.UnixListener, inner *net.UnixConn) {
	var mu sync.Mutex
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_ = spawn.Serve(conn, func(p spawn.Program, log *os.File) (*os.File, error) {
				mu.Lock()
				defer mu.Unlock()
				return spawn.Start(inner, p, log)
			})
		}()
	}
}

// beInit is process 1, which ends with the starter.
func beInit() error {
	conn, err := spawn.Conn(os.NewFile(initSocket, "socket"))
	if err != nil {
		return err
	}
	return spawn.Serve(conn, spawn.Here)
}
