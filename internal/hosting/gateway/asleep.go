package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"kqueen.io/kqueen/internal/platform/handover"
	"kqueen.io/kqueen/internal/platform/peer"
)

const (
	// DefaultHoldTimeout is how long a connection is held while the API server that it is for starts.
	DefaultHoldTimeout = 2 * time.Minute
	// portAgain is the time between two tries to get a port that the API server has not left yet, or does not have yet.
	portAgain = 100 * time.Millisecond
)

// Asleep is how a gateway stands in for an API server that sleeps: it holds its port, and the connections of clients until it serves.
type Asleep struct {
	// Listen is the address of the API server's own port.
	Listen string `json:"listen"`
	// Handover is the folder in which the API server gets that port, with its queue of connections, when it starts.
	Handover string `json:"handover"`
	// Wake is the file that is created when a client asks for the API server. KQueen wakes it then.
	Wake string `json:"wake"`
	// Nodes are the addresses of the cluster's nodes, whose programs call without end: at the API server's own port they are refused and wake
	// nothing.
	Nodes []netip.Addr `json:"nodes,omitempty"`
}

// sleeper is what a gateway does for one API server that sleeps.
type sleeper struct {
	Asleep
	host string
	stop context.CancelFunc // ends accepting at the port
	// awake is closed when the API server serves, or nothing is held for it any more.
	awake chan struct{}

	mu    sync.Mutex
	port  net.Listener
	ended bool
}

// sleep begins to stand in for the API server of a host. Connections go on with ctx, and are accepted at the port while accepting does.
func (g *Gateway) sleep(ctx, accepting context.Context, host string, a Asleep) *sleeper {
	accepting, stop := context.WithCancel(accepting)
	s := &sleeper{Asleep: a, host: host, stop: stop, awake: make(chan struct{})}
	go s.serve(ctx, accepting, g)
	return s
}

// end gives the port to the API server alone, and lets go of what is held.
func (s *sleeper) end() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	if s.port != nil {
		_ = s.port.Close() // before what is held calls the API server there
	}
	close(s.awake)
}

// take notes the port; false when it is wanted no more.
func (s *sleeper) take(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.port = l
	return true
}

// serve accepts at the port of the API server from when that has left it, and offers it to the next one.
func (s *sleeper) serve(ctx, accepting context.Context, g *Gateway) {
	log := g.c.Log.With("host", s.host, "address", s.Listen)
	for accepting.Err() == nil {
		l, _, err := handover.Listen(accepting, s.Handover, s.Listen)
		if err != nil {
			log.DebugContext(ctx, "the port is not free yet", "err", err)
			wait(accepting, portAgain)
			continue
		}
		if !s.take(l) {
			_ = l.Close()
			return
		}
		go handover.Offer(accepting, s.Handover, l, func(err error) { log.ErrorContext(ctx, "the API server cannot get its port", "err", err) })
		if err := g.serveHost(ctx, accepting, l, s.host); err != nil {
			log.ErrorContext(ctx, "the port is opened again", "err", err)
		}
	}
}

// errAsleep says that a connection does not wake an API server, or that it was not awake in time.
var errAsleep = errors.New("the API server is asleep")

// hold has the API server woken, and waits until it serves. Errors are [errAsleep].
func (s *sleeper) hold(ctx context.Context, l *link, first hello, most time.Duration, log *slog.Logger) error {
	if first.background || l.host != "" && s.ofNode(l.client) {
		return errAsleep
	}
	// There is one already while an earlier client waits.
	f, err := os.OpenFile(s.Wake, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		log.ErrorContext(ctx, "the API server cannot be woken", "host", s.host, "err", err)
		return errors.Join(errAsleep, err)
	}
	log.InfoContext(ctx, "a client waits for an API server that is asleep", "host", s.host)
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-s.awake:
		return nil
	case <-ctx.Done():
		return errors.Join(errAsleep, ctx.Err())
	case <-timer.C:
		return errors.Join(errAsleep, context.DeadlineExceeded)
	}
}

// ofNode says whether a client has the address of one of the cluster's nodes.
func (s *sleeper) ofNode(client net.Conn) bool {
	from, _ := netip.ParseAddrPort(client.RemoteAddr().String())
	return slices.ContainsFunc(s.Nodes, func(a netip.Addr) bool { return peer.Of(a) == peer.Of(from.Addr()) })
}

// dialWoken dials a backend that has just begun: a program that could not take its port over opens it by itself, soon.
func (g *Gateway) dialWoken(ctx context.Context, backend string, first []byte) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, g.c.HoldTimeout)
	defer cancel()
	for {
		server, err := g.dial(ctx, backend, first)
		if !errors.Is(err, syscall.ECONNREFUSED) || ctx.Err() != nil {
			return server, err
		}
		wait(ctx, portAgain)
	}
}

// wait waits for a time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
