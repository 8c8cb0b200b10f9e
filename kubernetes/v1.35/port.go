//go:build !node

package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// leavesWithin bounds how long a process goes on that was told to leave. What supervises it may not know any more that it did.
const leavesWithin = 20 * time.Second

// lastCall is how long before that the clients of connections on which nothing was asked meanwhile are told to open new ones.
const lastCall = 2 * time.Second

// port is where an API server listens: at an address of its own, and at one that it shares for moments with the process whose place it
// takes, or which takes its place. It is the net.Listener that upstream's server is given.
type port struct {
	own, shared net.Listener
	taken       bool   // shared was another process's
	folder      string // where it is handed over

	conns     chan net.Conn
	closed    chan struct{}
	once      sync.Once
	announced atomic.Bool
	leaving   atomic.Bool
	server    atomic.Pointer[http.Server]
	open      sync.WaitGroup // connections from others, and what accepts them
}

func portOf(s *options.ServerRunOptions) string { return strconv.Itoa(s.SecureServing.BindPort) }

func openPort(ctx context.Context, folder, shared, own string) (*port, error) {
	p := &port{folder: folder, conns: make(chan net.Conn), closed: make(chan struct{})}
	var err error
	if p.own, err = net.Listen("tcp", own); err != nil {
		return nil, err
	}
	p.shared, p.taken, err = Listen(ctx, folder, shared)
	p.open.Add(1) // for accept
	return p, err
}

// announce has Addr be the shared address, which is how others find this API server, from now on.
func (p *port) announce() { p.announced.Store(true) }

func (p *port) Addr() net.Addr {
	if p.announced.Load() {
		return p.shared.Addr()
	}
	return p.own.Addr()
}

func (p *port) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends accepting. While the process leaves it goes on to accept its own calls to itself: upstream would take an end for a fault.
func (p *port) Close() error {
	if p.leaving.Load() {
		return nil
	}
	p.once.Do(func() { close(p.closed) })
	return errors.Join(p.own.Close(), p.shared.Close())
}

// accept accepts at its own address, and at the shared one: at once where no other process does, else when this one is ready.
func (p *port) accept(ctx context.Context, ready func() bool) {
	defer p.open.Done()
	go p.from(p.own, func(c net.Conn) net.Conn { return c })
	if p.taken && !until(ctx, ready) {
		return
	}
	p.from(p.shared, func(c net.Conn) net.Conn {
		p.open.Add(1)
		return &counted{Conn: c, ended: p.open.Done}
	})
}

// from hands connections to the server until l is closed. What passes, such as too many open files, it tries again.
func (p *port) from(l net.Listener, as func(net.Conn) net.Conn) {
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			select { // as net/http waits, but not longer than it is wanted
			case <-time.After(time.Second):
			case <-p.closed:
			}
			continue
		case err != nil:
			klog.ErrorS(err, "Connection not accepted", "address", l.Addr())
			continue
		}
		select {
		case p.conns <- as(c):
		case <-p.closed:
			_ = c.Close()
			return
		}
	}
}

// handOver gives the shared port to the process that comes next, until this one is told to leave. Then it accepts nothing more, tells its
// clients with each answer to open new connections, at last all of them (GOAWAY, RFC 9113, section 6.8), and ends with the last one, or when
// its time is up.
func (p *port) handOver(ctx context.Context) {
	offering, stop := context.WithCancel(ctx)
	defer stop()
	go Offer(offering, p.folder, p.shared, func(err error) { klog.ErrorS(err, "No other process can take the place of this one now") })
	select {
	case <-Asked():
	case <-ctx.Done():
		return
	}
	klog.InfoS("Another process accepts connections now; those that there are go on", "within", leavesWithin)
	p.leaving.Store(true)
	stop()
	_ = p.shared.Close()
	time.AfterFunc(leavesWithin-lastCall, func() {
		if server := p.server.Load(); server != nil {
			// Not before: from then on it answers no request of HTTP/1 any more, also on connections that it has just accepted. It waits for an end of
			// accepting that does not come, after it has told the clients.
			_ = server.Shutdown(context.Background())
		}
	})
	time.AfterFunc(leavesWithin, func() { os.Exit(0) })
	p.open.Wait()
	os.Exit(0)
}

// learn takes note of the server that serves requests, which upstream makes within itself, and has each answer of a process that leaves be the
// last one of its connection: of HTTP/1 it is closed, of HTTP/2 the client is told by GOAWAY and what goes on goes on.
func (p *port) learn(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.server.Load() == nil {
			if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
				p.server.Store(server)
			}
		}
		if p.leaving.Load() && r.Header.Get("Upgrade") == "" { // a shell is no answer after which anything comes
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// counted is an open connection of which the end is told once.
type counted struct {
	net.Conn
	ended func()
	once  sync.Once
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.ended)
	return err
}
