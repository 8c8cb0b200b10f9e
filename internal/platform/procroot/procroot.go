// Package procroot opens files and sockets as a process sees them, below its root. What that process has written there is not
// trusted: symbolic links lead nowhere else.
package procroot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Open opens a folder by its path in a process, to be read.
func Open(pid int, path string) (*os.File, error) {
	fd, err := open(pid, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Dial connects to a unix socket by its path in a process.
func Dial(ctx context.Context, pid int, socket string) (conn net.Conn, err error) {
	fd, err := open(pid, socket, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	return (&net.Dialer{}).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", fd))
}

func open(pid int, path string, flags uint64) (fd int, err error) {
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open the root of process %d: %w", pid, err)
	}
	defer func() { err = errors.Join(err, unix.Close(root)) }()
	how := &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if fd, err = unix.Openat2(root, strings.TrimPrefix(path, "/"), how); err != nil {
		return -1, fmt.Errorf("find %s: %w", path, err)
	}
	return fd, nil
}
