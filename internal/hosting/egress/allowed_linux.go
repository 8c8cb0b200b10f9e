package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
)

// allowed is an open connection to what an administrator allows. It is cut when that is taken back: API servers keep
// connections to webhooks open for as long as they call them.
type allowed struct {
	net.Conn
	server *Server
	// name is that of the directory of the entry.
	name   string
	target netip.AddrPort
}

// Close closes it and forgets it.
func (c *allowed) Close() error {
	c.server.mu.Lock()
	delete(c.server.allowed, c)
	c.server.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite says that nothing more comes.
func (c *allowed) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return c.Close()
	}
	return half.CloseWrite()
}

// dialAllowed connects the API server of an entry with what an administrator allows.
func (s *Server) dialAllowed(ctx context.Context, name string, target netip.AddrPort) (net.Conn, error) {
	conn, err := s.direct(ctx, target)
	if err != nil {
		return nil, err
	}
	c := &allowed{Conn: conn, server: s, name: name, target: target}
	s.mu.Lock()
	s.allowed[c] = true
	s.mu.Unlock()
	// While it was being connected, it was not known to cut.
	if !s.entry(name).allows(target) {
		return nil, errors.Join(&refusedError{target.String(), "an administrator of the installation has just taken that back"}, c.Close())
	}
	return c, nil
}

// cut closes the connections of an entry that are allowed no more.
func (s *Server) cut(name string, mark Mark) {
	var over []*allowed
	s.mu.Lock()
	for c := range s.allowed {
		if c.name == name && !mark.allows(c.target) {
			over = append(over, c)
		}
	}
	s.mu.Unlock()
	for _, c := range over {
		s.Log.Info("cut what is allowed no more", "cluster", mark.Cluster, "target", c.target)
		_ = c.Close() // who waits on it sees it closed
	}
}
