package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"kqueen.io/kqueen/internal/platform/handover"
	"kqueen.io/kqueen/internal/platform/kube"
)

// until waits until ok.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	eventually(t, func() error {
		if ok() {
			return nil
		}
		return errors.New(what)
	})
}

// bed is a gateway that stands in for an API server which sleeps.
type bed struct {
	asleep Asleep
	table  *Table
	to     Route
	own    tls.Certificate // of the API server
	roots  *x509.CertPool
}

func newBed(t *testing.T) bed {
	t.Helper()
	dir := t.TempDir()
	address := freeAddress(t)
	b := bed{asleep: Asleep{Listen: address, Handover: filepath.Join(dir, "h"), Wake: filepath.Join(dir, "wake")}}
	p := Process{Listen: freeAddress(t), Handover: filepath.Join(dir, "own"), Routes: filepath.Join(dir, "routes.json"), Health: freeAddress(t), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	b.own, b.roots = identity(t, "a.org.test")
	var damaged error
	if b.table, damaged = OpenTable(p.Routes); damaged != nil {
		t.Fatal(damaged)
	}
	b.to = Route{Backend: netip.MustParseAddrPort(address), Asleep: &b.asleep}
	if err := b.table.Set("a.org.test", b.to); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	until(t, "the gateway does not offer the port", func() bool { return handover.Offered(t.Context(), b.asleep.Handover, address) })
	return b
}

// call connects to the API server's own port, and returns what becomes of the handshake.
func (b bed) call(protocols ...string) <-chan error {
	answered := make(chan error, 1)
	go func() {
		c, err := tls.Dial("tcp", b.asleep.Listen, &tls.Config{RootCAs: b.roots, ServerName: "a.org.test", NextProtos: protocols})
		if err == nil {
			err = c.Close()
		}
		answered <- err
	}()
	return answered
}

// TestSleeping: a client of an API server that sleeps wakes it, and is answered when it serves at the port that it got from the gateway.
// KQueen's own calls and those of nodes wake it not.
func TestSleeping(t *testing.T) {
	b := newBed(t)
	if err := <-b.call(kube.BackgroundProtocols()...); err == nil {
		t.Error("a call of KQueen's own was answered")
	}
	if _, err := os.Stat(b.asleep.Wake); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a call of KQueen's own woke it: %v", err)
	}
	first := b.call("h2")
	until(t, "a client woke nothing", func() bool { _, err := os.Stat(b.asleep.Wake); return err == nil })

	// The API server begins: it gets the port, and accepts there once it is ready.
	port, taken, err := handover.Listen(t.Context(), b.asleep.Handover, b.asleep.Listen)
	if err != nil || !taken {
		t.Fatalf("the API server gets no port: %v, taken %v", err, taken)
	}
	server := tls.NewListener(port, &tls.Config{Certificates: []tls.Certificate{b.own}})
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() { _ = c.(*tls.Conn).HandshakeContext(t.Context()); _ = c.Close() }()
		}
	}()
	t.Cleanup(func() { _ = server.Close() })
	select {
	case err := <-first:
		t.Fatalf("it was answered while KQueen has not said that it serves: %v", err)
	default:
	}
	if err := b.table.Set("a.org.test", Route{Backend: b.to.Backend}); err != nil {
		t.Fatal(err)
	}
	for _, answered := range []<-chan error{first, b.call("h2")} {
		if err := <-answered; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("a client that waited got %v", err)
		}
	}
}

// TestNodesDoNotWake: what comes from the address of a node is refused at the API server's own port.
func TestNodesDoNotWake(t *testing.T) {
	b := newBed(t)
	node := b.asleep
	node.Nodes = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	if err := b.table.Set("a.org.test", Route{Backend: b.to.Backend, Asleep: &node}); err != nil {
		t.Fatal(err)
	}
	until(t, "a node is not refused", func() bool { return <-b.call("h2") != nil })
	_ = os.Remove(b.asleep.Wake)
	if err := <-b.call("h2"); err == nil {
		t.Error("a node was answered")
	}
	if _, err := os.Stat(b.asleep.Wake); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a node woke its cluster: %v", err)
	}
}

// TestWakes: each cluster for which clients wait is told of, also those from before KQueen began, until it is taken note of.
func TestWakes(t *testing.T) {
	told := make(chan string, 10)
	w := &Wakes{Folder: filepath.Join(t.TempDir(), "wakes"), Notify: func(uid string) { told <- uid }}
	if err := os.Mkdir(w.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	wait := func(uid string) {
		t.Helper()
		until(t, "nothing is told of "+uid, func() bool { return <-told == uid })
		if asked, err := w.Asked("1"); err != nil || !asked {
			t.Errorf("asked %v, %v", asked, err)
		}
	}
	write := func(uid string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(w.Folder, uid), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = w.Run(ctx) }()
	wait("1")
	write("2")
	wait("2")
	for range 2 {
		if err := w.Taken("1"); err != nil {
			t.Error(err)
		}
	}
	if asked, err := w.Asked("1"); err != nil || asked {
		t.Errorf("after it was taken: asked %v, %v", asked, err)
	}
}

// TestFallsAsleepWhileDialled: a client by name that comes just when the API server falls asleep is not passed on to the gateway's own stand-in
// at its port, where it would be cut for being silent.
func TestFallsAsleepWhileDialled(t *testing.T) {
	dir, address := t.TempDir(), freeAddress(t)
	asleep := Asleep{Listen: address, Handover: filepath.Join(dir, "h"), Wake: filepath.Join(dir, "wake")}
	g := New(Config{Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	g.asleep = func(host string, a Asleep) *sleeper { return g.sleep(t.Context(), t.Context(), host, a) }
	before := Route{Backend: netip.MustParseAddrPort(address)}
	if err := g.set("a.org.test", before); err != nil {
		t.Fatal(err)
	}
	stale, _ := g.destination("a.org.test")
	if err := g.set("a.org.test", Route{Backend: before.Backend, Asleep: &asleep}); err != nil {
		t.Fatal(err)
	}
	until(t, "the gateway does not offer the port", func() bool { return handover.Offered(t.Context(), asleep.Handover, address) })

	port, taken, err := handover.Listen(t.Context(), asleep.Handover, address)
	if err != nil || !taken {
		t.Fatalf("the API server gets no port: %v, taken %v", err, taken)
	}
	t.Cleanup(func() { _ = port.Close() })
	reached := make(chan error, 1)
	go func() {
		first := hello{host: "a.org.test", raw: []byte("hello")}
		server, err := g.reach(t.Context(), &link{}, first, stale, g.c.Log)
		if err == nil {
			err = server.Close()
		}
		reached <- err
	}()
	until(t, "it wakes nothing", func() bool { _, err := os.Stat(asleep.Wake); return err == nil })
	select {
	case err := <-reached:
		t.Fatalf("it was passed on while the API server sleeps: %v", err)
	default:
	}
	if err := g.set("a.org.test", before); err != nil {
		t.Fatal(err)
	}
	if err := <-reached; err != nil {
		t.Errorf("after it is awake: %v", err)
	}
}
