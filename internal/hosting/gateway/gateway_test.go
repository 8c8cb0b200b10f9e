package gateway

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const patience = 20 * time.Second // no test waits so long unless it fails

// start runs a gateway on a port of its own until the test ends, and fails the test when it does not stop.
func start(t *testing.T, c Config) (g *Gateway, addr string) {
	t.Helper()
	g = New(c)
	addr, stop := serve(t, g)
	t.Cleanup(stop)
	return g, addr
}

func serve(t *testing.T, g *Gateway) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, l) }()
	return l.Addr().String(), func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(patience):
			t.Error("Serve does not return")
		}
	}
}

func setRoute(t *testing.T, g *Gateway, host string, backend net.Addr) {
	t.Helper()
	if err := g.SetRoute(host, netip.MustParseAddrPort(backend.String())); err != nil {
		t.Fatal(err)
	}
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c.(*net.TCPConn)
}

// say dials and sends.
func say(t *testing.T, addr string, what []byte) *net.TCPConn {
	t.Helper()
	c := dial(t, addr)
	if _, err := c.Write(what); err != nil {
		t.Fatal(err)
	}
	return c
}

// rest is all that the gateway still sends; it ends when the gateway closes, cleanly or not, and fails the test when that does not happen.
func rest(t *testing.T, c net.Conn) []byte {
	t.Helper()
	got, err := io.ReadAll(c)
	if e := net.Error(nil); errors.As(err, &e) && e.Timeout() {
		t.Fatal("the connection stays open")
	}
	return got
}

func expectAlert(t *testing.T, c net.Conn, alert byte) {
	t.Helper()
	if d := cmp.Diff([]byte{21, 3, 1, 0, 2, 2, alert}, rest(t, c)); d != "" {
		t.Errorf("alert: -want +got\n%s", d)
	}
}

// backend is a TCP server, which gives each connection to serve.
func backend(t *testing.T, serve func(*net.TCPConn)) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_ = c.SetDeadline(time.Now().Add(patience))
				serve(c.(*net.TCPConn))
			}()
		}
	}()
	return l.Addr()
}

func echo(c *net.TCPConn) { _, _ = io.Copy(c, c) }

// exchange sends and expects the same back.
func exchange(c net.Conn, what []byte) error {
	if _, err := c.Write(what); err != nil {
		return err
	}
	got := make([]byte, len(what))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if !bytes.Equal(got, what) {
		return fmt.Errorf("got %q back, sent %q", got, what)
	}
	return nil
}

func mustExchange(t *testing.T, c net.Conn, what []byte) {
	t.Helper()
	if err := exchange(c, what); err != nil {
		t.Fatal(err)
	}
}

// identity is a self-signed certificate, which is its own authority.
func identity(t *testing.T, cn string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: cn}, DNSNames: []string{cn},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// Two API servers with authorities of their own, client certificates and HTTP/2, behind one port.
func TestTLSPassesEndToEnd(t *testing.T) {
	g, addr := start(t, Config{})
	clientCert, clientCA := identity(t, "alice")
	for _, host := range []string{"a.org.test", "b.org.test"} {
		serverCert, serverCA := identity(t, host)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, "%s for %s by %s", host, r.TLS.PeerCertificates[0].Subject.CommonName, r.Proto)
		}))
		s.EnableHTTP2 = true
		s.TLS = &tls.Config{Certificates: []tls.Certificate{serverCert}, ClientCAs: clientCA, ClientAuth: tls.RequireAndVerifyClientCert}
		s.StartTLS()
		t.Cleanup(s.Close)
		setRoute(t, g, host, s.Listener.Addr())
		for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
			c := &http.Client{Timeout: patience, Transport: &http.Transport{
				DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
					return (&net.Dialer{}).DialContext(ctx, network, addr)
				},
				ForceAttemptHTTP2: proto == "HTTP/2.0",
				TLSClientConfig:   &tls.Config{RootCAs: serverCA, Certificates: []tls.Certificate{clientCert}},
			}}
			defer c.CloseIdleConnections()
			resp, err := c.Get("https://" + host + "/")
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if want := host + " for alice by " + proto; err != nil || string(body) != want {
				t.Errorf("got %q, %v; want %q", body, err, want)
			}
		}
	}
}

func TestNamesAreCompared(t *testing.T) {
	g, addr := start(t, Config{})
	to := backend(t, echo)
	cases := map[string]struct {
		reason, routed, asked string
	}{
		"same":       {"", "c1.org.test", "c1.org.test"},
		"case asked": {"DNS names have no case", "c2.org.test", "C2.Org.TEST"},
		"case route": {"DNS names have no case", "C3.Org.TEST", "c3.org.test"},
		"dot":        {"a rooted name is the same name", "c4.org.test.", "c4.org.test"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			setRoute(t, g, c.routed, to)
			mustExchange(t, dial(t, addr), helloOf(t, c.asked))
			g.RemoveRoute(c.asked)
			expectAlert(t, say(t, addr, helloOf(t, c.asked)), 112)
		})
	}
}

func TestRefusals(t *testing.T) {
	g, addr := start(t, Config{})
	setRoute(t, g, "a.org.test", backend(t, echo))
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.Close()
	setRoute(t, g, "dead.org.test", dead.Addr())
	for name, host := range map[string]string{"unknown name": "c.org.test", "part of a name": "org.test", "longer name": "x.a.org.test", "no name": ""} {
		t.Run(name, func(t *testing.T) { expectAlert(t, say(t, addr, helloOf(t, host)), 112) })
	}
	t.Run("a client understands it", func(t *testing.T) {
		err := tls.Client(dial(t, addr), &tls.Config{ServerName: "c.org.test"}).Handshake()
		var op *net.OpError
		if !errors.As(err, &op) || op.Op != "remote error" || op.Err.Error() != "tls: unrecognized name" {
			t.Errorf("got %v, want the alert unrecognized name", err)
		}
	})
	t.Run("backend is down", func(t *testing.T) { expectAlert(t, say(t, addr, helloOf(t, "dead.org.test")), 80) })
	for name, bytes := range map[string][]byte{"garbage": []byte("GET / HTTP/1.1\r\nHost: a.org.test\r\n\r\n"), "huge hello": hugeHello()} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, addr)
			_, _ = c.Write(bytes) // the gateway may close before all is sent
			if got := rest(t, c); len(got) != 0 {
				t.Errorf("got %q, want nothing", got)
			}
		})
	}
	mustExchange(t, dial(t, addr), helloOf(t, "a.org.test")) // and it goes on
}

func TestSlowHelloIsClosed(t *testing.T) {
	g, addr := start(t, Config{HelloTimeout: 30 * time.Millisecond})
	setRoute(t, g, "a.org.test", backend(t, echo))
	hello := helloOf(t, "a.org.test")
	for name, part := range map[string][]byte{"nothing": nil, "half": hello[:len(hello)/2]} {
		t.Run(name, func(t *testing.T) {
			if got := rest(t, say(t, addr, part)); len(got) != 0 {
				t.Errorf("got %q, want nothing", got)
			}
		})
	}
}

func TestNoTimeoutAfterTheHandshake(t *testing.T) {
	g, addr := start(t, Config{HelloTimeout: 2 * time.Second, DialTimeout: 50 * time.Millisecond})
	setRoute(t, g, "a.org.test", backend(t, echo))
	c := dial(t, addr)
	mustExchange(t, c, helloOf(t, "a.org.test"))
	mustExchange(t, c, []byte("key exchange"))
	// Silent for longer than both limits, as a watch is.
	_ = c.SetReadDeadline(time.Now().Add(2200 * time.Millisecond))
	var timeout net.Error
	if _, err := c.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("an idle connection ended with %v", err)
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
	mustExchange(t, c, []byte("still here"))
}

func TestHalfCloseIsPassedOn(t *testing.T) {
	hello := helloOf(t, "a.org.test")
	t.Run("client first", func(t *testing.T) {
		g, addr := start(t, Config{})
		setRoute(t, g, "a.org.test", backend(t, func(c *net.TCPConn) {
			all, _ := io.ReadAll(c)
			_, _ = fmt.Fprintf(c, "%d bytes", len(all))
		}))
		c := say(t, addr, append(hello, "tail"...))
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, want := string(rest(t, c)), fmt.Sprintf("%d bytes", len(hello)+4); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("server first", func(t *testing.T) {
		g, addr := start(t, Config{})
		got := make(chan string, 1)
		setRoute(t, g, "a.org.test", backend(t, func(c *net.TCPConn) {
			_, _ = io.ReadFull(c, make([]byte, len(hello)))
			_, _ = c.Write([]byte("bye"))
			_ = c.CloseWrite()
			all, _ := io.ReadAll(c)
			got <- string(all)
		}))
		c := say(t, addr, hello)
		if said := rest(t, c); string(said) != "bye" {
			t.Errorf("got %q, want bye", said)
		}
		if _, err := c.Write([]byte("last words")); err != nil {
			t.Fatal(err)
		}
		_ = c.CloseWrite()
		if said := <-got; said != "last words" {
			t.Errorf("the server got %q, want the last words", said)
		}
	})
}

func TestSetRouteRefuses(t *testing.T) {
	g := New(Config{})
	ok := netip.MustParseAddrPort("127.0.0.1:6443")
	for name, err := range map[string]error{
		"no host":    g.SetRoute("", ok),
		"dot":        g.SetRoute(".", ok),
		"no backend": g.SetRoute("a", netip.AddrPort{}),
		"no port":    g.SetRoute("a", netip.MustParseAddrPort("127.0.0.1:0")),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
