package supervise

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// claims are the ports that are reserved. That no program listens at one does not say that it is free: the supervisor of another
// directory on this host may have reserved it a moment ago, and each would then start a program there. So a port is claimed by a name in the
// kernel, of an abstract socket (unix(7)), of which there is one for all, and which goes with the process.
type claims struct {
	addr netip.Addr
	held map[int]net.Listener // nil for one that is claimed nowhere but here
}

func (c claims) has(port int) bool {
	_, ok := c.held[port]
	return ok
}

// take claims a port unless another supervisor has.
func (c claims) take(ctx context.Context, port int) bool {
	l, err := c.listen(ctx, port)
	if errors.Is(err, unix.EADDRINUSE) {
		return false
	}
	c.held[port] = l
	return true
}

// keep claims a port that was reserved in an earlier life. Should another supervisor have claimed it since, it stays reserved: who listens
// there first has it.
func (c claims) keep(ctx context.Context, port int) {
	c.held[port], _ = c.listen(ctx, port)
}

func (c claims) listen(ctx context.Context, port int) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "unix", "@kqueen.io/port/"+netip.AddrPortFrom(c.addr, uint16(port)).String())
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (c claims) drop(port int) {
	if l := c.held[port]; l != nil {
		_ = l.Close()
	}
	delete(c.held, port)
}

func (c claims) dropAll() {
	for port := range c.held {
		c.drop(port)
	}
}
