package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadFirst(t *testing.T) {
	named := helloOf(t, "a.org.test")
	for name, c := range map[string]struct {
		in    io.Reader
		host  string
		plain bool
		ok    bool
	}{
		"TLS":          {bytes.NewReader(named), "a.org.test", false, true},
		"TLS bytewise": {oneByte{bytes.NewReader(named)}, "a.org.test", false, true},
		"HTTP":         {strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "a", true, true},
		"port":         {strings.NewReader("GET / HTTP/1.1\r\nHost: a.b:7443\r\n\r\n"), "a.b", true, true},
		"bytewise":     {oneByte{strings.NewReader("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")}, "a", true, true},
		"body":         {strings.NewReader("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"), "a", true, true},
		"absolute":     {strings.NewReader("GET http://b/x HTTP/1.1\r\nHost: a\r\n\r\n"), "b", true, true},
		"no host":      {strings.NewReader("GET / HTTP/1.0\r\n\r\n"), "", true, true},
		"cut short":    {strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\n"), "", true, false},
		"too long":     {strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\nCookie: " + strings.Repeat("x", 2*maxHello)), "", true, false},
		"neither":      {strings.NewReader("SSH-2.0-OpenSSH_9.6\r\n"), "", true, false},
		"nothing":      {strings.NewReader(""), "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var seen bytes.Buffer
			got, err := readFirst(io.TeeReader(c.in, &seen), true)
			if (err == nil) != c.ok || got.host != c.host || got.plain != c.plain {
				t.Errorf("got %q, plain %t, %v", got.host, got.plain, err)
			}
			if c.ok && !bytes.Equal(got.raw, seen.Bytes()) || len(got.raw) > maxHello {
				t.Errorf("%d bytes were read and %d are handed on", seen.Len(), len(got.raw))
			}
		})
	}
	if _, err := readFirst(strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), false); err == nil {
		t.Error("plain HTTP is taken where only TLS is")
	}
}

// FuzzReadFirst: no client makes the gateway take more than the cap, or lose a byte that it took.
func FuzzReadFirst(f *testing.F) {
	f.Add(helloOf(f, "a.org.test"))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		src := &counting{r: io.MultiReader(bytes.NewReader(in), bytes.NewReader(in), io.LimitReader(bytes.NewReader(make([]byte, 2*maxHello)), 2*maxHello))}
		got, err := readFirst(src, true)
		if src.n > maxHello || len(got.raw) != src.n {
			t.Errorf("took %d bytes and kept %d, want at most %d", src.n, len(got.raw), maxHello)
		}
		if err != nil && got.host != "" {
			t.Errorf("name %q together with error %v", got.host, err)
		}
	})
}

// webServer is an HTTP server that says which host it was asked for, at the plain port of a backend.
func webServer(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s", r.Host, body)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return netip.MustParseAddrPort(l.Addr().String())
}

// TestPlainHTTP: requests go by their host to the plain port of the backend, all of them that come on one connection; a client that is
// refused reads why.
func TestPlainHTTP(t *testing.T) {
	web := webServer(t)
	g, addr := start(t, Config{PlainPort: web.Port()})
	if err := g.SetRoute("*.demo.localhost", netip.AddrPortFrom(web.Addr(), 443)); err != nil {
		t.Fatal(err)
	}
	if err := g.SetRoute("*.away.localhost", netip.MustParseAddrPort("127.0.0.2:443")); err != nil {
		t.Fatal(err)
	}
	ask := func(request string) string {
		t.Helper()
		answer, err := http.ReadResponse(bufio.NewReader(say(t, addr, []byte(request))), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %s", answer.StatusCode, body)
	}
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: web.demo.localhost:7443\r\n\r\n":                      "200 web.demo.localhost:7443 ",
		"POST / HTTP/1.1\r\nHost: WEB.demo.localhost\r\nContent-Length: 4\r\n\r\nbody": "200 WEB.demo.localhost body",
		"GET / HTTP/1.1\r\nHost: demo.localhost\r\n\r\n":                               "404 " + refusals[outcomeNoHost].text + "\n",
		"GET / HTTP/1.1\r\nHost: a.b.demo.localhost\r\n\r\n":                           "404 " + refusals[outcomeNoHost].text + "\n",
		"GET / HTTP/1.1\r\nHost: web.away.localhost\r\n\r\n":                           "502 " + refusals[outcomeNoBackend].text + "\n",
		"nonsense\r\n\r\n": "400 " + refusals[outcomeNoHello].text + "\n",
	} {
		if diff := cmp.Diff(want, ask(request)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", request, diff)
		}
	}
	expectAlert(t, say(t, addr, helloOf(t, "web.away.localhost")), alertInternalError)
}

// TestWildcard: a name of its own comes before that of all, which stands for one more label alone.
func TestWildcard(t *testing.T) {
	g := New(Config{})
	for host, port := range map[string]uint16{"*.demo.example.org": 1, "own.demo.example.org": 2, "demo.example.org": 3} {
		if err := g.SetRoute(host, netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), port)); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]uint16{}
	for _, name := range []string{"web.demo.example.org", "Own.demo.example.org.", "demo.example.org", "a.b.demo.example.org", "example.org", "org", ""} {
		to, leave, err := g.join(name, &link{from: "192.0.2.7"})
		if err == nil {
			leave()
		}
		if err == nil || to.backend.IsValid() {
			got[name] = to.backend.Port()
		}
	}
	if diff := cmp.Diff(map[string]uint16{"web.demo.example.org": 1, "Own.demo.example.org.": 2, "demo.example.org": 3}, got); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}
