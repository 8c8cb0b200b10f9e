package supervise

import (
	"context"
	"errors"
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// claims are the ports that are reserved. That no program listens at one does not say that it is free: the supervisor of another
// directory on this host may have reserved it a moment ago, and each would then start a program there. So a port is claimed by a name in the
// kernel, of an abstract socket (unix(7)), of which there is one for all, and which goes with the process. The name is of the port alone:
// whatever address a supervisor is told to listen at, some of its programs listen at the loopback address. The listener is nil for a port
// that is claimed nowhere but here.
type claims map[int]net.Listener

func (c claims) has(port int) bool {
	_, ok := c[port]
	return ok
}

// take claims a port unless another supervisor has.
func (c claims) take(ctx context.Context, port int) bool {
	l, err := c.listen(ctx, port)
	if errors.Is(err, unix.EADDRINUSE) {
		return false
	}
	c[port] = l
	return true
}

// keep claims a port that was reserved in an earlier life. Should another supervisor have claimed it since, it stays reserved: who listens
// there first has it.
func (c claims) keep(ctx context.Context, port int) {
	c[port], _ = c.listen(ctx, port)
}

func (c claims) listen(ctx context.Context, port int) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "unix", "@kqueen.io/port/"+strconv.Itoa(port))
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (c claims) drop(port int) {
	if l := c[port]; l != nil {
		_ = l.Close()
	}
	delete(c, port)
}

func (c claims) dropAll() {
	for port := range c {
		c.drop(port)
	}
}
