//go:build !linux

package socket

import (
	"errors"
	"net"
)

// peerOf knows no peer: KQueen serves on Linux alone.
func peerOf(net.Conn) (Peer, error) { return Peer{}, errors.ErrUnsupported }
