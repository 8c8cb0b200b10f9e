package gateway

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/relay"
)

func TestRemoveRouteCutsItsConnectionsOnly(t *testing.T) {
	g, addr := start(t, Config{})
	to := backend(t, echo)
	conns := map[string][]*net.TCPConn{}
	for _, host := range []string{"a.org.test", "b.org.test"} {
		setRoute(t, g, host, to)
		for range 3 {
			c := dial(t, addr)
			mustExchange(t, c, helloOf(t, host))
			conns[host] = append(conns[host], c)
		}
	}
	g.RemoveRoute("a.org.test")
	g.RemoveRoute("a.org.test") // twice is as good as once
	for _, c := range conns["a.org.test"] {
		if got := rest(t, c); len(got) != 0 {
			t.Errorf("got %q, want the end", got)
		}
	}
	for _, c := range conns["b.org.test"] {
		mustExchange(t, c, []byte("still here"))
	}
	// The same name again is a new route.
	setRoute(t, g, "a.org.test", to)
	mustExchange(t, dial(t, addr), helloOf(t, "a.org.test"))
}

// TestOneNameCannotUseUpTheOthersBytes: what a name carries too fast waits, also over a second connection, and another name's does not.
func TestOneNameCannotUseUpTheOthersBytes(t *testing.T) {
	const bytes = 128 << 10
	g, addr := start(t, Config{BytesPerHost: bytes})
	to := backend(t, func(c *net.TCPConn) { _, _ = c.Write(make([]byte, 64*bytes)) })
	setRoute(t, g, "a.org.test", to)
	setRoute(t, g, "b.org.test", backend(t, echo))
	came, begin := 0, time.Now()
	for range 2 {
		c := say(t, addr, helloOf(t, "a.org.test"))
		_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		n, _ := io.Copy(io.Discard, c)
		came += int(n)
	}
	// What it may at once, what it may in that time, and one step more over each connection.
	if most := bytes + int(time.Since(begin).Seconds()*bytes) + 2*relay.PaceStep; came < bytes || came > most {
		t.Errorf("%d bytes came, want at least %d and at most %d", came, bytes, most)
	}
	mustExchange(t, dial(t, addr), helloOf(t, "b.org.test"))
}

func TestNewBackendKeepsOpenConnections(t *testing.T) {
	g, addr := start(t, Config{})
	setRoute(t, g, "a.org.test", backend(t, echo))
	old := dial(t, addr)
	mustExchange(t, old, helloOf(t, "a.org.test"))
	setRoute(t, g, "a.org.test", backend(t, func(c *net.TCPConn) { _, _ = c.Write([]byte("new")) }))
	c := say(t, addr, helloOf(t, "a.org.test"))
	got := make([]byte, 3)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "new" {
		t.Errorf("got %q, %v; want the new backend", got, err)
	}
	mustExchange(t, old, []byte("still here"))
}

func TestOneNameCannotUseUpTheOthersConnections(t *testing.T) {
	g, addr := start(t, Config{MaxConnsPerHostAndAddress: 2, minSilence: time.Hour})
	to := backend(t, echo)
	setRoute(t, g, "a.org.test", to)
	setRoute(t, g, "b.org.test", to)
	hello := helloOf(t, "a.org.test")
	first, second := dial(t, addr), dial(t, addr)
	mustExchange(t, first, hello)
	mustExchange(t, second, hello)
	expectAlert(t, say(t, addr, hello), 80)
	mustExchange(t, dial(t, addr), helloOf(t, "b.org.test"))
	mustExchange(t, first, []byte("still here"))

	_ = second.Close() // its place is free as soon as the gateway has seen that
	eventually(t, func() error { return exchange(dial(t, addr), hello) })
}

func TestConnectionsOfAnAddressAreLimited(t *testing.T) {
	g, addr := start(t, Config{MaxConnsPerAddress: 2, minSilence: time.Hour})
	setRoute(t, g, "a.org.test", backend(t, echo))
	hello := helloOf(t, "a.org.test")
	first := dial(t, addr)
	mustExchange(t, first, hello)
	silent := say(t, addr, nil) // has no name yet and counts all the same
	if err := exchange(dial(t, addr), hello); err == nil {
		t.Error("a third connection was let in")
	}
	mustExchange(t, first, []byte("still here"))
	_ = silent.Close()
	eventually(t, func() error { return exchange(dial(t, addr), hello) })
}

// eventually tries until it works; the other side needs a moment to see that a connection has ended.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal(err)
		}
	}
}

func TestShutdownEndsEverything(t *testing.T) {
	g := New(Config{HelloTimeout: time.Hour, DialTimeout: time.Hour})
	addr, stop := serve(t, g)
	setRoute(t, g, "a.org.test", backend(t, echo))
	hello := helloOf(t, "a.org.test")
	open, half, silent := dial(t, addr), say(t, addr, hello[:10]), dial(t, addr)
	mustExchange(t, open, hello)
	stop() // fails when Serve, which waits for all of its goroutines, does not return
	for name, c := range map[string]*net.TCPConn{"open": open, "half a hello": half, "silent": silent} {
		if got := rest(t, c); len(got) != 0 {
			t.Errorf("%s: got %q, want the end", name, got)
		}
	}
	if c, err := net.DialTimeout("tcp", addr, patience); err == nil {
		_ = c.Close()
		t.Error("the port is still open")
	}
	for name, r := range map[string]*limiter{"the name": g.routes["a.org.test"].limiter, "the gateway": g.limiter} {
		if n := r.places.Taken(); n != 0 || len(r.of) != 0 {
			t.Errorf("%d places of %s are still taken, by %v", n, name, r.of)
		}
	}
}

func TestServeTellsThatItsListenerBroke(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := New(Config{}).Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
}

// Routes come and go while clients dial: with -race this looks for unlocked state, and shutdown for connections that were not counted.
func TestRoutesChangeUnderLoad(t *testing.T) {
	g := New(Config{MaxConnsPerHost: 4})
	addr, stop := serve(t, g)
	to := netip.MustParseAddrPort(backend(t, echo).String())
	hello := helloOf(t, "a.org.test")
	var clients, changer sync.WaitGroup
	done := make(chan struct{})
	changer.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := g.SetRoute("a.org.test", to); err != nil {
				t.Error(err)
			}
			g.RemoveRoute("a.org.test")
		}
	})
	for range 8 {
		clients.Go(func() {
			for range 30 {
				c, err := net.DialTimeout("tcp", addr, patience)
				if err != nil {
					t.Error(err)
					return
				}
				_ = c.SetDeadline(time.Now().Add(patience))
				err = exchange(c, hello)
				if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
					t.Error("a connection was forgotten")
				}
				_ = c.Close()
			}
		})
	}
	clients.Wait()
	close(done)
	changer.Wait()
	stop()
	if n := g.limiter.places.Taken(); n != 0 {
		t.Errorf("%d places are still taken", n)
	}
}
