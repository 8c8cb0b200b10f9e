package gateway

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// dialFrom dials from another loopback address.
func dialFrom(t *testing.T, source, addr string) *net.TCPConn {
	t.Helper()
	d := net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	c, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c.(*net.TCPConn)
}

// A client that opens connections and then says nothing, which it may do before it says who it is, does not close a
// name: not to others, and not to those behind its own address.
func TestSilentConnectionsCloseNoName(t *testing.T) {
	g, addr := start(t, Config{MaxConnsPerHostAndAddress: 20, minSilence: time.Millisecond})
	setRoute(t, g, "a.org.test", backend(t, echo))
	hello := helloOf(t, "a.org.test")
	for range 30 {
		c := dial(t, addr)
		eventually(t, func() error { return exchange(c, hello) })
		eventually(t, func() error { // until it is silent
			if err := silentOne(g, "a.org.test", time.Millisecond); err != nil {
				return err
			}
			return nil
		})
	}
	mustExchange(t, dialFrom(t, "127.0.0.2", addr), hello)
	eventually(t, func() error { return exchange(dial(t, addr), hello) })
}

// silentOne fails until some connection of a name has been silent for so long.
func silentOne(g *Gateway, name string, silence time.Duration) error {
	r := g.routes[name].limiter
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, links := range r.of {
		for l := range links {
			if l.silence() >= silence {
				return nil
			}
		}
	}
	return errors.New("no connection is silent")
}

// The connection that gives way is the most silent one of the same address, and none of another.
func TestTheMostSilentConnectionGivesWay(t *testing.T) {
	g, addr := start(t, Config{MaxConnsPerHostAndAddress: 2, minSilence: 50 * time.Millisecond})
	setRoute(t, g, "a.org.test", backend(t, echo))
	hello := helloOf(t, "a.org.test")
	other, silent, busy := dialFrom(t, "127.0.0.2", addr), dial(t, addr), dial(t, addr)
	for _, c := range []*net.TCPConn{other, silent, busy} {
		mustExchange(t, c, hello)
	}
	eventually(t, func() error {
		mustExchange(t, busy, []byte("I am here"))
		return exchange(dial(t, addr), hello)
	})
	if got := rest(t, silent); len(got) != 0 {
		t.Errorf("got %q, want the end", got)
	}
	mustExchange(t, busy, []byte("still here"))
	mustExchange(t, other, []byte("still here"))
}

// Many addresses together cannot close a name either: each is sure of some connections.
func TestEachAddressIsSureOfSome(t *testing.T) {
	g, addr := start(t, Config{MaxConns: 2, MaxConnsPerHost: 2, minSilence: time.Hour})
	setRoute(t, g, "a.org.test", backend(t, echo))
	hello := helloOf(t, "a.org.test")
	for range sureOfAddress {
		mustExchange(t, dialFrom(t, "127.0.0.2", addr), hello)
	}
	if err := exchange(dialFrom(t, "127.0.0.2", addr), hello); err == nil {
		t.Error("an address has more than it is sure of, of a full name")
	}
	mustExchange(t, dial(t, addr), hello)
}

// A client has to go on after its first message. Who has begun to talk may then be silent for as long as it likes.
func TestWhoSaysNothingAfterTheHelloIsCut(t *testing.T) {
	g, addr := start(t, Config{HelloTimeout: 2 * time.Second})
	setRoute(t, g, "a.org.test", backend(t, echo))
	hello := helloOf(t, "a.org.test")
	talks := dial(t, addr)
	mustExchange(t, talks, hello)
	mustExchange(t, talks, []byte("key exchange"))
	silent := dial(t, addr)
	mustExchange(t, silent, hello)
	if got := rest(t, silent); len(got) != 0 {
		t.Errorf("got %q, want the end", got)
	}
	mustExchange(t, talks, []byte("still here"))
}

func TestTheKernelSaysWhatCame(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	near := dial(t, l.Addr().String())
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })
	link := &link{client: far, cut: context.CancelFunc(func() {})}
	if got := link.received(); got != 0 {
		t.Errorf("%d bytes came before anything was sent", got)
	}
	if _, err := near.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if link.received() != 5 {
			return errors.New("5 bytes were sent")
		}
		return nil
	})
	_ = far.Close()
	if got := link.silence(); got != 0 {
		t.Errorf("a closed connection is silent for %v, want 0: it is leaving anyway", got)
	}
}
