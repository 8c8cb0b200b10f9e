package socket

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel who has connected.
func peerOf(c net.Conn) (Peer, error) {
	local, ok := c.(*net.UnixConn)
	if !ok {
		return Peer{}, errors.New("it is no connection of a Unix socket")
	}
	raw, err := local.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("look at the connection: %w", err)
	}
	var found *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { found, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, failed); err != nil {
		return Peer{}, fmt.Errorf("ask who has connected: %w", err)
	}
	return Peer{found.Uid}, nil
}
