// Package gateway is the TLS front of all tenants' API servers, and another one of the applications in their clusters: one port, shared by name.
//
// It reads the server name out of a connection's first message (SNI) and passes the whole connection, that message included, to the API server of
// that name; for applications, it does the same with the host of a plain HTTP request. It holds no key and decrypts nothing: certificates, client certificates and HTTP/2 are between the client and the API server.
// It hides the reading of that message, the limits that keep one tenant from using up the others' connections, and the cutting of connections
// whose tenant is gone. It runs as a [Process] of its own, which follows a [Table] of routes on disk; [Routes] writes that as the statuses of
// control planes have it.
//
// A client that cannot send the name (it dials an IP address, as nodes and pods do) cannot come this way.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"kqueen.io/kqueen/internal/platform/peer"
	"kqueen.io/kqueen/internal/platform/relay"
)

// Defaults of [Config].
const (
	DefaultHelloTimeout              = 10 * time.Second
	DefaultDialTimeout               = 5 * time.Second
	DefaultMaxConns                  = 10_000
	DefaultMaxConnsPerAddress        = 2_000
	DefaultMaxConnsPerHost           = 1_000
	DefaultMaxConnsPerHostAndAddress = 500
	// DefaultBytesPerHost is for each processor of the host.
	DefaultBytesPerHost = 32 << 20
)

// Config limits what a connection may cost. Zero values mean the defaults.
type Config struct {
	Log *slog.Logger // nil: silent
	// PlainPort is the port of backends for plain HTTP: a client that begins with a request, and no TLS hello, goes by its Host header to
	// that port of the backend of that name. 0 is for TLS alone.
	PlainPort uint16
	// HelloTimeout is how long a client may take for its first TLS message, and how long for what comes after it.
	HelloTimeout time.Duration
	// DialTimeout is how long a backend may take to accept a connection and its first bytes.
	DialTimeout time.Duration
	// HoldTimeout is how long a connection is held while the API server that it woke starts.
	HoldTimeout time.Duration
	// MaxConns limits the open connections of one Gateway, those without a name yet included. Each takes up to six file
	// descriptors: two sockets, and two pipes through which the kernel moves the bytes.
	MaxConns int
	// MaxConnsPerAddress limits those of one address (of IPv6: one /64).
	MaxConnsPerAddress int
	// MaxConnsPerHost limits the open connections of one name.
	MaxConnsPerHost int
	// MaxConnsPerHostAndAddress limits those of one address to one name. Beyond it, and beyond MaxConnsPerAddress, the
	// connection of that address that has been silent for longest gives way to the next one.
	MaxConnsPerHostAndAddress int
	// BytesPerHost is how many bytes a second the connections of one name carry for long, in both directions together, and how many at
	// once. What is too fast waits, so that watches of a tenant that writes large objects leave processor time to the others.
	BytesPerHost int

	minSilence time.Duration // of a connection that gives way
}

// defaultMinSilence is short beside the 30 seconds after which a client of Kubernetes that only waits sends a ping.
const defaultMinSilence = time.Second

// Gateway passes TLS connections on by their server name. It is safe for concurrent use.
type Gateway struct {
	c       Config
	limiter *limiter // of all open connections
	metrics *metrics
	// asleep stands in for API servers that sleep; nil where the gateway holds no port but its own.
	asleep func(host string, a Asleep) *sleeper

	mu     sync.Mutex
	routes map[string]*route
}

// route is where the connections of a name go. It dies with RemoveRoute: a later one of the same name is another route.
type route struct {
	destination
	limiter *limiter
}

// destination is where connections go, and how many bytes a second all of them together.
type destination struct {
	backend netip.AddrPort
	bytes   *rate.Limiter
	asleep  *sleeper // nil while the backend is there
}

// link is one connection on its way.
type link struct {
	client net.Conn
	host   string             // whose port it came by; empty for the gateway's own, where the client says it
	from   string             // the client's address, as it is counted
	cut    context.CancelFunc // ends the connection, whatever it is doing
}

var (
	errNoRoute   = errors.New("no such host")
	errNoBackend = errors.New("the backend does not answer")
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
	if c.HoldTimeout <= 0 {
		c.HoldTimeout = DefaultHoldTimeout
	}
	if c.minSilence <= 0 {
		c.minSilence = defaultMinSilence
	}
	for _, limit := range []struct {
		value   *int
		natural int
	}{
		{&c.MaxConns, DefaultMaxConns},
		{&c.MaxConnsPerAddress, DefaultMaxConnsPerAddress},
		{&c.MaxConnsPerHost, DefaultMaxConnsPerHost},
		{&c.MaxConnsPerHostAndAddress, DefaultMaxConnsPerHostAndAddress},
		{&c.BytesPerHost, DefaultBytesPerHost * runtime.NumCPU()},
	} {
		if *limit.value <= 0 {
			*limit.value = limit.natural
		}
	}
	g := &Gateway{c: c, routes: map[string]*route{}}
	g.limiter = g.newLimiter(c.MaxConns, c.MaxConnsPerAddress)
	g.metrics = newMetrics(g.limiter.places.Taken)
	return g
}

// SetRoute passes connections for host (any case, with or without a dot at its end) on to backend. It is idempotent. The host
// "*.example.org" stands for all names of one more label that have no route of their own.
// When host had another backend, new connections go to the new one and open ones stay with the old one.
func (g *Gateway) SetRoute(host string, backend netip.AddrPort) error {
	return g.set(host, Route{Backend: backend})
}

// set is SetRoute for a backend that may be asleep.
func (g *Gateway) set(host string, to Route) error {
	if err := to.check(host); err != nil {
		return err
	}
	name := canonical(host)
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.routes[name]
	if !ok {
		bytes := rate.NewLimiter(rate.Limit(g.c.BytesPerHost), max(g.c.BytesPerHost, relay.PaceStep))
		r = &route{destination{bytes: bytes}, g.newLimiter(g.c.MaxConnsPerHost, g.c.MaxConnsPerHostAndAddress)}
		g.routes[name] = r
	}
	r.backend = to.Backend
	if r.asleep != nil && (to.Asleep == nil || !reflect.DeepEqual(r.asleep.Asleep, *to.Asleep)) {
		r.asleep.end()
		r.asleep = nil
	}
	if r.asleep == nil && to.Asleep != nil && g.asleep != nil {
		r.asleep = g.asleep(name, *to.Asleep)
	}
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
	if r.asleep != nil {
		r.asleep.end()
	}
	r.limiter.cutAll()
}

// join counts a connection to its host; leave must be called when it ends. From here on RemoveRoute cuts it, even while its backend is being dialled.
func (g *Gateway) join(host string, l *link) (to destination, leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.find(canonical(host))
	if !ok {
		return destination{}, nil, errNoRoute
	}
	leave, err = r.limiter.enter(l)
	return r.destination, leave, err
}

// find returns the route of a name. The caller holds mu.
func (g *Gateway) find(name string) (*route, bool) {
	if r, ok := g.routes[name]; ok {
		return r, true
	}
	_, parent, _ := strings.Cut(name, ".")
	r, ok := g.routes["*."+parent]
	return r, ok
}

// hosts are those that have a route.
func (g *Gateway) hosts() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.routes))
}

func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// Serve passes on what l accepts, until ctx ends; then it closes l and all of its connections, waits for its goroutines and returns nil.
// It returns earlier, with an error, when l breaks. Serve may run on several listeners at once.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error { return g.serve(ctx, ctx, l) }

// serve closes l when accepting, which ends with ctx at the latest, has ended, and goes on with the connections that there are: it
// returns when the last one has ended, or ctx.
func (g *Gateway) serve(ctx, accepting context.Context, l net.Listener) error {
	return g.serveHost(ctx, accepting, l, "")
}

// serveHost is serve for the port of a host; of the gateway's own where that is empty.
func (g *Gateway) serveHost(ctx, accepting context.Context, l net.Listener, host string) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	open, shut := context.WithCancel(accepting)
	stop := relay.CloseWhenDone(open, l)
	var conns sync.WaitGroup
	err := g.accept(inner, l, host, &conns)
	left := accepting.Err() != nil
	shut()
	stop()
	if !left {
		cancel()
	}
	conns.Wait()
	if left {
		return nil
	}
	return err
}

func (g *Gateway) accept(ctx context.Context, l net.Listener, host string, conns *sync.WaitGroup) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			if !transient(err) || !pause(ctx) {
				return fmt.Errorf("accept on %s: %w", l.Addr(), err)
			}
			g.c.Log.WarnContext(ctx, "cannot accept connections for now", "err", err)
			continue
		}
		ctx, cut := context.WithCancel(ctx)
		l := &link{client: conn, host: host, from: origin(conn), cut: cut}
		leave, err := g.limiter.enter(l)
		if err != nil {
			g.c.Log.DebugContext(ctx, "refused", "client", conn.RemoteAddr(), "err", err)
			g.metrics.count(outcomeFull)
			cut()
			_ = conn.Close()
			continue
		}
		conns.Go(func() {
			defer leave()
			defer cut()
			g.handle(ctx, l)
		})
	}
}

// origin is the address of a client, as it is counted. Clients without an address share one.
func origin(c net.Conn) string {
	from, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	return peer.Of(from.Addr()).String()
}

// transient tells whether the listener will work again: a client that was gone before it was accepted, or no free file descriptor.
func transient(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary() && !errors.Is(err, net.ErrClosed)
}

// pause gives file descriptors time to come free; false when ctx ended meanwhile.
func pause(ctx context.Context) bool {
	wait(ctx, 50*time.Millisecond)
	return ctx.Err() == nil
}
