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

	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/platform/relay"
)

const (
	// hostDialTimeout is for a connection to a program of the same host.
	hostDialTimeout = 5 * time.Second
	// maxForwarded bounds the connections that one machine may hold open through its process 1: some
	// hundred pods with a few each.
	maxForwarded = 4096
)

// dial connects to a program of the host.
func dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return (&net.Dialer{Timeout: hostDialTimeout}).DialContext(ctx, "tcp", to.String())
}

// forward carries each connection that comes to l to the host. It closes l when ctx ends.
func forward(ctx context.Context, l net.Listener, to netip.AddrPort) error {
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
			carry(ctx, conn, to)
			return nil
		})
	}
}

// dialInside connects to pods and Services in the machine's network, and to nothing else: pods of other machines are
// reached by its routes.
func dialInside(network int, ranges []netip.Prefix) egress.Dial {
	return func(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
		if !slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(target.Addr()) }) {
			return nil, fmt.Errorf("%s is neither a pod nor a Service", target)
		}
		var conn net.Conn
		// The socket is made on the calling thread, because the address is a number and there is only one.
		err := inNetwork(network, func() (err error) {
			conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", target.String())
			return err
		})
		return conn, err
	}
}

// carry joins a caller with the host.
func carry(ctx context.Context, caller net.Conn, to netip.AddrPort) {
	server, err := dial(ctx, to)
	if err != nil {
		_ = caller.Close() // as if the server had refused
		return
	}
	relay.Both(ctx, caller, server)
}
