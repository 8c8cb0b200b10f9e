package gateway

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// helloOf is the first message of a real TLS client that wants host; an empty host makes a client that sends no name.
func helloOf(t testing.TB, host string) []byte {
	t.Helper()
	near, far := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = tls.Client(near, &tls.Config{ServerName: host, InsecureSkipVerify: true}).Handshake()
	}()
	buf := make([]byte, maxHello)
	n, err := far.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	_ = far.Close()
	<-ended
	return buf[:n]
}

// oneByte reads a byte at a time, as a slow network does.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

// counting counts what is taken from it.
type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func TestReadHello(t *testing.T) {
	named, nameless := helloOf(t, "a.org.test"), helloOf(t, "")
	cases := map[string]struct {
		reason string
		in     io.Reader
		host   string
		ok     bool
	}{
		"whole":     {"the usual case", bytes.NewReader(named), "a.org.test", true},
		"bytewise":  {"a hello may come in any number of pieces", oneByte{bytes.NewReader(named)}, "a.org.test", true},
		"more":      {"bytes behind the hello are kept for the backend", io.MultiReader(bytes.NewReader(named), strings.NewReader("early data")), "a.org.test", true},
		"no name":   {"an IP address is no name", bytes.NewReader(nameless), "", true},
		"cut short": {"the client is gone", bytes.NewReader(named[:len(named)-1]), "", false},
		"nothing":   {"the client is gone", bytes.NewReader(nil), "", false},
		"HTTP":      {"not TLS", strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "", false},
		"alert":     {"TLS, but no hello", bytes.NewReader([]byte{21, 3, 1, 0, 2, 2, 80}), "", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var seen bytes.Buffer
			first, err := readFirst(io.TeeReader(c.in, &seen), false)
			raw, host := first.raw, first.host
			if (err == nil) != c.ok || host != c.host {
				t.Errorf("%s: got %q, %v", c.reason, host, err)
			}
			if !bytes.Equal(raw, seen.Bytes()) {
				t.Errorf("%d bytes were read and %d are handed on", seen.Len(), len(raw))
			}
		})
	}
}

// hugeHello is a hello of 60,000 bytes in records of 1,000.
func hugeHello() []byte {
	body := append([]byte{1, 0, 60_000 >> 8, 60_000 & 0xff}, make([]byte, 60_000)...)
	var out []byte
	for len(body) > 0 {
		n := min(1000, len(body))
		out = append(out, 22, 3, 1, byte(n>>8), byte(n))
		out = append(out, body[:n]...)
		body = body[n:]
	}
	return out
}

func TestReadHelloStopsAtTheCap(t *testing.T) {
	in := &counting{r: bytes.NewReader(hugeHello())}
	_, err := readFirst(in, false)
	if !errors.Is(err, errHelloTooBig) {
		t.Errorf("got %v, want %v", err, errHelloTooBig)
	}
	if in.n > maxHello {
		t.Errorf("took %d bytes, want %d at most", in.n, maxHello)
	}
}

func FuzzReadHello(f *testing.F) {
	f.Add(helloOf(f, "a.org.test"))
	f.Add(helloOf(f, ""))
	f.Add(hugeHello())
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		// Repeated, so that the reader could take more than the cap if it wanted to.
		src := &counting{r: io.MultiReader(bytes.NewReader(in), bytes.NewReader(in), io.LimitReader(bytes.NewReader(make([]byte, 2*maxHello)), 2*maxHello))}
		first, err := readFirst(src, false)
		raw, host := first.raw, first.host
		if src.n > maxHello || len(raw) != src.n {
			t.Errorf("took %d bytes and kept %d, want at most %d", src.n, len(raw), maxHello)
		}
		if err != nil && host != "" {
			t.Errorf("name %q together with error %v", host, err)
		}
	})
}
