// Package socket is the local sockets by which the owner of the machine calls KQueen: the REST API's, and that of the status.
//
// The kernel says which user has connected: root and the user that runs KQueen own the installation, and a connection of
// any other user is closed before a byte of it is read. It hides how the kernel is asked. The server asks [PeerOf] who
// calls; packages app and status open sockets.
package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"strings"

	"kqueen.io/kqueen/api/rest"
)

// Peer is the user of the operating system who has connected.
type Peer struct{ UID uint32 }

// String is as id(1) has it: "uid=0(root)".
func (p Peer) String() string {
	uid := strconv.FormatUint(uint64(p.UID), 10)
	if found, err := user.LookupId(uid); err == nil {
		return "uid=" + uid + "(" + found.Username + ")"
	}
	return "uid=" + uid
}

// owns says whether a user owns an installation that another user runs. It is pure.
func (p Peer) owns(runs uint32) bool { return p.UID == 0 || p.UID == runs }

type listener struct {
	net.Listener
	log *slog.Logger
}

// Listen opens the socket, in the place of one that is left there. Only one process may call it for a path at a time.
func Listen(path string, log *slog.Logger) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	// The path may be one for the moment, and lead elsewhere by the time of closing: the next Listen removes the file.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	// The folder is closed to others, and each connection is looked at: between the two calls nothing is open.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close the socket to others: %w", err), l.Close())
	}
	return &listener{l, log}, nil
}

// conn is a connection of an owner.
type conn struct {
	net.Conn
	peer Peer
}

// Accept returns the next connection of an owner.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err // as it is: net/http looks at its type to tell what passes by itself
		}
		peer, err := peerOf(c)
		if err == nil && peer.owns(uint32(os.Geteuid())) {
			return &conn{c, peer}, nil
		}
		l.log.Warn("refuse a connection to the local socket", "peer", peer.String(), "error", err)
		_ = c.Close()
	}
}

type peerKey struct{}

// With puts the peer of a connection into the context of its requests; it is for http.Server.ConnContext.
func With(ctx context.Context, c net.Conn) context.Context {
	if from, ok := c.(*conn); ok {
		return context.WithValue(ctx, peerKey{}, from.peer)
	}
	return ctx
}

// PeerOf returns who has connected to the local socket; false for a request that came another way.
func PeerOf(ctx context.Context) (Peer, bool) {
	peer, ok := ctx.Value(peerKey{}).(Peer)
	return peer, ok
}

// Foreign says which header of a request on the socket is not that of a local program, and why. The caller there needs no
// proof, so that a page of another site must not get in through the user's browser and a proxy that leads here: browsers
// say where a request comes from, send what they keep, and never name this host.
func Foreign(r *http.Request) (header, why string) {
	if r.Host != rest.LocalHost {
		return "Host", "is not " + rest.LocalHost + ", as all who call the local socket say"
	}
	for name := range r.Header {
		switch {
		case name == "Origin", name == "Referer", strings.HasPrefix(name, "Sec-"):
			return name, "comes from a browser, which is not served on the local socket"
		case name == "Cookie", name == "Authorization":
			return name, "is not taken on the local socket, where the kernel says who calls"
		}
	}
	return "", ""
}
