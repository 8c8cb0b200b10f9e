package egress

import (
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// machine is an exit that hears a request and answers with an answer, or ends before it answers when that is empty, or never answers when
// it hangs. asked counts the requests, and closed is told of each connection that its caller has closed.
type machine struct {
	dir    string
	asked  atomic.Int32
	closed chan struct{}
}

const hangs = "hangs"

func newMachine(t *testing.T, answer string) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir(), closed: make(chan struct{}, 8)}
	l, err := net.Listen("unix", filepath.Join(m.dir, Socket)) //nolint:noctx // it is in this process
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
			go m.serve(c, answer)
		}
	}()
	return m
}

func (m *machine) serve(c net.Conn, answer string) {
	defer c.Close()
	_, _ = c.Read(make([]byte, 1<<10))
	m.asked.Add(1)
	if answer != hangs {
		_, _ = io.WriteString(c, answer)
		return
	}
	_, _ = io.Copy(io.Discard, c)
	m.closed <- struct{}{}
}

const refuses = "HTTP/1.1 502 connection refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

// TestThrough: a call goes by way of another machine when one ends, hangs, or does not know the way.
func TestThrough(t *testing.T) {
	h := newHost(t)
	h.exit("machine-a", "a", "pod of a")
	well, target := filepath.Join(h.dir, "machine-a"), netip.MustParseAddrPort("10.244.0.5:80")
	for name, answer := range map[string]string{"ends": "", "hangs": hangs, "does not know the way": refuses} {
		t.Run(name, func(t *testing.T) {
			bad := newMachine(t, answer)
			conn, err := through(t.Context(), []string{bad.dir, well}, target)
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			if answer == hangs {
				<-bad.closed
			}
		})
	}
}

// TestThroughNone: of machines none of which reaches the target, two are believed, and no more asked.
func TestThroughNone(t *testing.T) {
	target := netip.MustParseAddrPort("10.244.0.5:80")
	ends, first, second, third := newMachine(t, ""), newMachine(t, refuses), newMachine(t, refuses), newMachine(t, refuses)
	_, err := through(t.Context(), []string{first.dir, ends.dir, t.TempDir(), second.dir, third.dir}, target)
	if err == nil || !strings.Contains(err.Error(), "no way to 10.244.0.5:80: the machine answers: 502 connection refused") {
		t.Errorf("%v", err)
	}
	if n := third.asked.Load(); n != 0 {
		t.Errorf("a third machine was asked %d times", n)
	}
	if _, err := through(t.Context(), []string{ends.dir}, target); err == nil {
		t.Error("a machine that ended is no way")
	}
	if _, err := through(t.Context(), nil, target); err == nil || !strings.Contains(err.Error(), "no machine on this host") {
		t.Errorf("%v", err)
	}
}
