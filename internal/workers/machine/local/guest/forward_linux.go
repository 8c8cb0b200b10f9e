package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/platform/osthread"
	"kqueen.io/kqueen/internal/platform/relay"
)

const (
	// hostDialTimeout is for a connection to a program of the same host.
	hostDialTimeout = 5 * time.Second
	// maxForwarded bounds the connections that one machine may hold open through its process 1: some
	// hundred pods with a few each.
	maxForwarded = 4096
)

// hostDialer opens connections in the host's network. One thread does it for all: a socket belongs to the
// network of the thread that makes it, wherever it is used afterwards.
type hostDialer struct{ asked chan dialing }

type dialing struct {
	to     netip.AddrPort
	answer chan<- dialed
}

type dialed struct {
	conn *net.TCPConn
	err  error
}

func newHostDialer(ctx context.Context, host int) *hostDialer {
	d := &hostDialer{asked: make(chan dialing)}
	osthread.Spend(func() { d.serve(ctx, host) })
	return d
}

// serve has a thread of its own: the machine's programs join the network of the process's first one.
func (d *hostDialer) serve(ctx context.Context, host int) {
	moved := unix.Setns(host, unix.CLONE_NEWNET)
	for {
		select {
		case <-ctx.Done():
			return
		case ask := <-d.asked:
			if moved != nil {
				ask.answer <- dialed{err: fmt.Errorf("enter the host's network: %w", moved)}
				continue
			}
			ask.answer <- dial(ctx, ask.to)
		}
	}
}

// dial makes its socket on the calling thread, because the address is a number and there is only one.
func dial(ctx context.Context, to netip.AddrPort) dialed {
	dialer := net.Dialer{Timeout: hostDialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return dialed{err: err}
	}
	return dialed{conn: conn.(*net.TCPConn)}
}

func (d *hostDialer) dial(ctx context.Context, to netip.AddrPort) (*net.TCPConn, error) {
	answer := make(chan dialed, 1)
	select {
	case d.asked <- dialing{to, answer}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a := <-answer
	return a.conn, a.err
}

// forward carries each connection that comes to l to the host. It closes l when ctx ends.
func forward(ctx context.Context, l net.Listener, to netip.AddrPort, dialer *hostDialer) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var carriers errgroup.Group
	carriers.SetLimit(maxForwarded)
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return carriers.Wait()
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		carriers.Go(func() error {
			carry(ctx, conn, to, dialer)
			return nil
		})
	}
}

// dialInside connects to pods and Services from within the machine's network, and to nothing else: pods of other
// machines are reached by its routes.
func dialInside(ranges []netip.Prefix) egress.Dial {
	return func(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
		if !slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(target.Addr()) }) {
			return nil, fmt.Errorf("%s is neither a pod nor a Service", target)
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", target.String())
	}
}

// carry joins a caller with the host.
func carry(ctx context.Context, caller net.Conn, to netip.AddrPort, dialer *hostDialer) {
	server, err := dialer.dial(ctx, to)
	if err != nil {
		_ = caller.Close() // as if the server had refused
		return
	}
	relay.Both(ctx, caller, server)
}
