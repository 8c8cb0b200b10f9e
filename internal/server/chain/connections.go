package chain

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"kqueen.io/kqueen/internal/platform/share"
)

// LimitConnections returns a listener that holds so many connections at most, and so many of one address (of IPv6: one /64). What is
// more of one address is closed at once, so that no client alone takes all that there may be; what is more of all waits.
func LimitConnections(l net.Listener, all, ofOne int) net.Listener {
	return &limitedListener{Listener: l, slots: make(chan struct{}, all), held: share.New(1, ofOne, ofOne), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	slots  chan struct{}
	held   *share.Shares
	close  sync.Once
	closed chan struct{}
}

// Close ends an Accept that waits, too.
func (l *limitedListener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Accept returns the next connection that there is room for.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			<-l.slots
			return nil, err // as it is: net/http looks at its type to tell what passes by itself
		}
		from, _ := netip.ParseAddrPort(conn.RemoteAddr().String()) // clients without an address share one
		if leave := l.held.Take(partyOf(from.Addr())); leave != nil {
			return &limitedConn{conn, sync.OnceFunc(func() { leave(); <-l.slots })}, nil
		}
		_ = conn.Close()
	}
}

type limitedConn struct {
	net.Conn
	leave func()
}

// Close makes room for another one.
func (c *limitedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

type connKey struct{}

// WithConnection is for http.Server.ConnContext: [Chain.Detach] finds the connection of a request by it.
func WithConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	if limited, ok := c.(*limitedConn); ok {
		return context.WithValue(ctx, connKey{}, limited)
	}
	return ctx
}

// uncount makes room for another connection beside that of a request.
func uncount(ctx context.Context) {
	if limited, ok := ctx.Value(connKey{}).(*limitedConn); ok {
		limited.leave()
	}
}
