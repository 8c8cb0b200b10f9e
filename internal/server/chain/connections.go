package chain

import (
	"net"
	"net/netip"

	"kqueen.io/kqueen/internal/platform/share"
)

// LimitConnections returns a listener that holds so many connections of one address (of IPv6: one /64) at most. What is
// more is closed at once, so that no client alone takes all the connections that there may be.
func LimitConnections(l net.Listener, ofOne int) net.Listener {
	return &limitedListener{l, share.New(1, ofOne, ofOne)}
}

type limitedListener struct {
	net.Listener
	held *share.Shares
}

// Accept returns the next connection that there is room for.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err // as it is: net/http looks at its type to tell what passes by itself
		}
		from, _ := netip.ParseAddrPort(conn.RemoteAddr().String()) // clients without an address share one
		if leave := l.held.Take(partyOf(from.Addr())); leave != nil {
			return &limitedConn{conn, leave}, nil
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
