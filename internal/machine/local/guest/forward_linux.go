package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/osthread"
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
			carry(ctx, conn.(*net.TCPConn), to, dialer)
			return nil
		})
	}
}

// carry copies both ways until both sides have ended.
func carry(ctx context.Context, caller *net.TCPConn, to netip.AddrPort, dialer *hostDialer) {
	defer caller.Close()
	server, err := dialer.dial(ctx, to)
	if err != nil {
		return // the caller sees its connection closed, as if the server had refused
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() { _ = errors.Join(caller.Close(), server.Close()) })
	defer stop()
	back := make(chan struct{})
	go func() {
		defer close(back)
		pour(caller, server)
	}()
	pour(server, caller)
	<-back
}

// pour copies until the end of from, and hands the end on.
func pour(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = errors.Join(to.Close(), from.Close())
		return
	}
	_ = to.CloseWrite()
}
