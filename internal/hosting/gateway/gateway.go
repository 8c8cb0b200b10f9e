// Package gateway is the TLS front of all tenants' API servers: one port, shared by name.
//
// It reads the server name out of a connection's first message (SNI) and passes the whole connection, that message included, to the API server of
// that name. It holds no key and decrypts nothing: certificates, client certificates and HTTP/2 are between the client and the API server.
// It hides the reading of that message, the limits that keep one tenant from using up the others' connections, and the cutting of connections
// whose tenant is gone. [Routes] calls [Gateway.SetRoute] and [Gateway.RemoveRoute].
//
// A client that cannot send the name (it dials an IP address, as nodes and pods do) cannot come this way.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"kqueen.io/kqueen/internal/platform/relay"
)

// Defaults of [Config].
const (
	DefaultHelloTimeout    = 10 * time.Second
	DefaultDialTimeout     = 5 * time.Second
	DefaultMaxConns        = 10_000
	DefaultMaxConnsPerHost = 1_000
)

// Config limits what a connection may cost. Zero values mean the defaults.
type Config struct {
	Log *slog.Logger // nil: silent
	// HelloTimeout is how long a client may take for its first TLS message.
	HelloTimeout time.Duration
	// DialTimeout is how long an API server may take to accept a connection and its first bytes.
	DialTimeout time.Duration
	// MaxConns limits the open connections of one Gateway, those without a name yet included. Each takes up to six file
	// descriptors: two sockets, and two pipes through which the kernel moves the bytes.
	MaxConns int
	// MaxConnsPerHost limits the open connections of one name.
	MaxConnsPerHost int
}

// Gateway passes TLS connections on by their server name. It is safe for concurrent use.
type Gateway struct {
	c     Config
	slots chan struct{} // one taken for every open connection

	mu     sync.Mutex
	routes map[string]*route
}

// route is where the connections of a name go. It dies with RemoveRoute: a later one of the same name is another route.
type route struct {
	backend netip.AddrPort
	links   map[*link]struct{}
}

// link is one connection on its way; cut ends it, whatever it is doing.
type link struct{ cut context.CancelFunc }

var (
	errNoRoute = errors.New("no such host")
	errFull    = errors.New("host has too many open connections")
)

// New makes a Gateway without routes.
func New(c Config) *Gateway {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.HelloTimeout <= 0 {
		c.HelloTimeout = DefaultHelloTimeout
	}
	if c.DialTimeout <= 0 {
		c.DialTimeout = DefaultDialTimeout
	}
	if c.MaxConns <= 0 {
		c.MaxConns = DefaultMaxConns
	}
	if c.MaxConnsPerHost <= 0 {
		c.MaxConnsPerHost = DefaultMaxConnsPerHost
	}
	return &Gateway{c: c, slots: make(chan struct{}, c.MaxConns), routes: map[string]*route{}}
}

// SetRoute passes connections for host (any case, with or without a dot at its end) on to backend. It is idempotent.
// When host had another backend, new connections go to the new one and open ones stay with the old one.
func (g *Gateway) SetRoute(host string, backend netip.AddrPort) error {
	name := canonical(host)
	if name == "" {
		return errors.New("gateway route: host is empty: want a DNS name")
	}
	if !backend.IsValid() || backend.Port() == 0 {
		return fmt.Errorf("gateway route %s: backend %q is not an address with a port", name, backend)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if r, ok := g.routes[name]; ok {
		r.backend = backend
		return nil
	}
	g.routes[name] = &route{backend: backend, links: map[*link]struct{}{}}
	return nil
}

// RemoveRoute refuses new connections for host and cuts the open ones. It is idempotent.
func (g *Gateway) RemoveRoute(host string) {
	name := canonical(host)
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.routes[name]
	if !ok {
		return
	}
	delete(g.routes, name)
	for l := range r.links {
		l.cut()
	}
}

// join counts a connection to its host; leave must be called when it ends. From here on RemoveRoute cuts it, even while its backend is being dialled.
func (g *Gateway) join(host string, l *link) (backend netip.AddrPort, leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.routes[canonical(host)]
	if !ok {
		return netip.AddrPort{}, nil, errNoRoute
	}
	if len(r.links) >= g.c.MaxConnsPerHost {
		return netip.AddrPort{}, nil, errFull
	}
	r.links[l] = struct{}{}
	leave = func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(r.links, l)
	}
	return r.backend, leave, nil
}

func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// Serve passes on what l accepts, until ctx ends; then it closes l and all of its connections, waits for its goroutines and returns nil.
// It returns earlier, with an error, when l breaks. Serve may run on several listeners at once.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	inner, cancel := context.WithCancel(ctx)
	stop := relay.CloseWhenDone(inner, l)
	var conns sync.WaitGroup
	err := g.accept(inner, l, &conns)
	cancel()
	stop()
	conns.Wait()
	if ctx.Err() != nil {
		return nil //nolint:nilerr // being told to end is not a failure
	}
	return err
}

func (g *Gateway) accept(ctx context.Context, l net.Listener, conns *sync.WaitGroup) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			if !transient(err) || !pause(ctx) {
				return fmt.Errorf("accept on %s: %w", l.Addr(), err)
			}
			g.c.Log.WarnContext(ctx, "cannot accept connections for now", "err", err)
			continue
		}
		select {
		case g.slots <- struct{}{}:
		default:
			g.c.Log.DebugContext(ctx, "refused: too many open connections", "client", conn.RemoteAddr())
			_ = conn.Close()
			continue
		}
		conns.Go(func() {
			defer func() { <-g.slots }()
			g.handle(ctx, conn)
		})
	}
}

// transient tells whether the listener will work again: a client that was gone before it was accepted, or no free file descriptor.
func transient(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary() && !errors.Is(err, net.ErrClosed)
}

// pause gives file descriptors time to come free; false when ctx ended meanwhile.
func pause(ctx context.Context) bool {
	t := time.NewTimer(50 * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
