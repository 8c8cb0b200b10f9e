package egress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// echo says to whom it speaks, and then everything that it hears, once the caller has ended.
func echo(greeting string) Dial {
	return func(_ context.Context, target netip.AddrPort) (net.Conn, error) {
		if target.Port() == 1 {
			return nil, errors.New("connection refused")
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix"})
		if err != nil {
			return nil, err
		}
		go func() {
			defer l.Close()
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "%s %s\n", greeting, target)
			_, _ = io.Copy(conn, conn)
		}()
		return net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	}
}

// host is a directory of workloads with a server that serves it.
type host struct {
	t   *testing.T
	dir string
}

func newHost(t *testing.T) *host {
	t.Helper()
	// Longer than any name of a socket may be.
	h := &host{t, filepath.Join(t.TempDir(), strings.Repeat("long/", 30))}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	run(t, h.server(nil).Run)
	return h
}

// server is one of the directory, that is told to leave by leave.
func (h *host) server(leave <-chan struct{}) *Server {
	return &Server{Dir: h.dir, Leave: leave, Log: slog.New(slog.NewTextHandler(h.t.Output(), nil)), direct: echo("outside")}
}

// run runs something until the test ends.
func run(t *testing.T, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	done := false
	stop = func() {
		if done {
			return
		}
		done = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func (h *host) mark(name string, m Mark) (dir string) {
	h.t.Helper()
	dir = filepath.Join(h.dir, name)
	data, err := m.Encode()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	fresh := filepath.Join(dir, "new")
	if err == nil {
		err = os.WriteFile(fresh, data, 0o600)
	}
	if err == nil { // as it is written: never half
		err = os.Rename(fresh, filepath.Join(dir, MarkFile))
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return dir
}

// exit makes a machine of a cluster, which answers with greeting.
func (h *host) exit(name, cluster, greeting string) (stop func()) {
	h.t.Helper()
	dir := h.mark(name, Mark{Cluster: cluster, Machine: netip.MustParseAddr("10.223.0.2")})
	l, err := Listen(dir)
	if err != nil {
		h.t.Fatal(err)
	}
	return run(h.t, func(ctx context.Context) error { return Serve(ctx, l, echo(greeting)) })
}

// call says "hello" to target by way of an entry, as an API server does, and returns what comes back.
func (h *host) call(entry, target string) (string, error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 5*time.Second)
	defer cancel()
	conn, err := dialThrough(ctx, filepath.Join(h.dir, entry), netip.MustParseAddrPort(target))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		return "", err
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		return "", err
	}
	all, err := io.ReadAll(conn)
	return string(all), err
}

// eventually calls until the answer is there, or the error that is wanted.
func (h *host) eventually(entry, target, want string) {
	h.t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late := time.After(20 * time.Second)
	for {
		got, err := h.call(entry, target)
		if err != nil {
			got = err.Error()
		}
		if strings.Contains(got, want) {
			return
		}
		select {
		case <-again.C:
		case <-late:
			h.t.Fatalf("from %s to %s: got %q, want %q", entry, target, got, want)
		}
	}
}

var pods = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}

func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("connection refused"), "HTTP/1.1 502 connection refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
		{errors.New("a\r\nSet-Cookie: b"), "HTTP/1.1 502 a  Set-Cookie: b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
		{
			fmt.Errorf("way: %w", &refusedError{"10.0.0.1:22", "why"}),
			"HTTP/1.1 403 way: calls from this API server to 10.0.0.1:22 are refused: why\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		},
	} {
		if got := refusal(c.err); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestServer(t *testing.T) {
	h := newHost(t)
	h.mark("plane-a", Mark{Cluster: "a", Ranges: pods})
	h.mark("plane-b", Mark{Cluster: "b", Ranges: pods})
	h.eventually("plane-a", "10.244.0.5:80", "the cluster has no machine on this host")

	stop := h.exit("machine-a", "a", "pod of a")
	h.exit("machine-b", "b", "pod of b")
	h.eventually("plane-a", "10.244.0.5:80", "pod of a 10.244.0.5:80\nhello")
	h.eventually("plane-b", "10.244.0.5:80", "pod of b 10.244.0.5:80\nhello")
	h.eventually("plane-a", "10.244.0.5:1", "connection refused")
	h.eventually("plane-a", "169.254.169.254:80", "403 calls from this API server to 169.254.169.254:80 are refused")

	stop()
	h.eventually("plane-a", "10.244.0.5:80", "no way to 10.244.0.5:80")
	h.exit("another-a", "a", "another of a")
	h.eventually("plane-a", "10.244.0.5:80", "another of a 10.244.0.5:80\nhello")

	if err := os.RemoveAll(filepath.Join(h.dir, "plane-a")); err != nil {
		t.Fatal(err)
	}
	h.eventually("plane-a", "10.244.0.5:80", "no such file")
	h.mark("plane-a", Mark{Cluster: "b", Ranges: pods})
	h.eventually("plane-a", "10.244.0.5:80", "pod of b")
}

// A machine that is recorded later is called at once, and what was connected before stays so.
func TestServerLearnsKubelets(t *testing.T) {
	h := newHost(t)
	mark := Mark{Cluster: "a", Ranges: pods}
	h.mark("plane-a", mark)
	h.exit("machine-a", "a", "pod of a")
	h.eventually("plane-a", "10.244.0.5:80", "pod of a")
	h.eventually("plane-a", "198.51.100.4:10250", "403 calls from this API server to 198.51.100.4:10250 are refused: it is not the recorded address")
	open, err := dialThrough(t.Context(), filepath.Join(h.dir, "plane-a"), netip.MustParseAddrPort("10.244.0.5:80"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()

	mark.Kubelets = []netip.Addr{netip.MustParseAddr("240.0.0.1")} // which no host has
	h.mark("plane-a", mark)
	if _, err := h.call("plane-a", "240.0.0.1:10250"); err != nil && strings.Contains(err.Error(), "are refused") {
		t.Errorf("an address that has just been recorded: %v", err)
	}
	h.mark("plane-b", Mark{Cluster: "b", Ranges: pods}) // what makes the server look again
	h.eventually("plane-b", "10.244.0.5:80", "no machine")
	greeting := "pod of a 10.244.0.5:80\n"
	got := make([]byte, len(greeting))
	if _, err := io.ReadFull(open, got); err != nil || string(got) != greeting {
		t.Errorf("what was connected has %q: %v", got, err)
	}
	if err := open.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Errorf("what was connected is closed: %v", err)
	}
}

// What is allowed is called at once, and what is taken back is cut, while connections to pods and to what stays allowed go on.
func TestServerFollowsTheList(t *testing.T) {
	h := newHost(t)
	kept, taken := destination(t, "198.51.100.0/24:443"), destination(t, "203.0.113.7:8443")
	mark := Mark{Cluster: "a", Ranges: pods}
	h.mark("plane-a", mark)
	h.mark("plane-b", Mark{Cluster: "b", Ranges: pods})
	h.eventually("plane-a", "198.51.100.7:443", "403 calls from this API server to 198.51.100.7:443 are refused: "+unlisted)

	mark.Allowed = []Destination{kept, taken}
	h.mark("plane-a", mark)
	for _, target := range []string{"198.51.100.7:443", "203.0.113.7:8443"} {
		if got, err := h.call("plane-a", target); err != nil || got != "outside "+target+"\nhello" {
			t.Errorf("what has just been allowed, %s: %q, %v", target, got, err)
		}
		h.eventually("plane-b", target, "are refused")
	}
	h.eventually("plane-a", "198.51.100.7:80", "are refused")
	staying, cut := h.open("plane-a", "198.51.100.7:443"), h.open("plane-a", "203.0.113.7:8443")

	mark.Allowed = []Destination{kept}
	h.mark("plane-a", mark)
	if got, err := h.call("plane-a", "203.0.113.7:8443"); err == nil || !strings.Contains(err.Error(), "are refused") {
		t.Errorf("what has just been taken back: %q, %v", got, err)
	}
	h.mark("plane-c", Mark{Cluster: "c", Ranges: pods}) // what makes the server look again
	if err := cut.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := cut.Read(make([]byte, 1)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("what is allowed no more is still connected: %d bytes, %v", n, err)
	}
	if _, err := io.WriteString(staying, "more"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("more"))
	if _, err := io.ReadFull(staying, got); err != nil || string(got) != "more" {
		t.Errorf("what stays allowed answers %q: %v", got, err)
	}
}

// open connects through an entry to an echo outside, and reads its greeting.
func (h *host) open(entry, target string) net.Conn {
	h.t.Helper()
	conn, err := dialThrough(h.t.Context(), filepath.Join(h.dir, entry), netip.MustParseAddrPort(target))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	greeting := make([]byte, len("outside "+target+"\n"))
	if _, err := io.ReadFull(conn, greeting); err != nil {
		h.t.Fatal(err)
	}
	return conn
}

// A mark that cannot be read closes nothing but its own entry.
func TestServerBadMark(t *testing.T) {
	h := newHost(t)
	dir := h.mark("plane-a", Mark{Cluster: "a", Ranges: pods})
	h.mark("plane-b", Mark{Cluster: "b", Ranges: pods})
	h.eventually("plane-a", "10.244.0.5:80", "no machine")
	if err := os.WriteFile(filepath.Join(dir, MarkFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.mark("plane-c", Mark{Cluster: "c", Ranges: pods}) // what makes the server look again
	h.eventually("plane-a", "10.244.0.5:80", "connection refused")
	h.eventually("plane-b", "10.244.0.5:80", "no machine")
}

// TestLeaves: when another process takes the place of an egress none of its sockets is missing for a moment, what it carries goes on,
// and it ends with that.
func TestLeaves(t *testing.T) {
	h := &host{t, t.TempDir()}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	leave, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- (&Server{Dir: h.dir, Leave: leave, Log: log}).Run(t.Context()) }()
	entry := h.mark("entry", Mark{Cluster: "a", Ranges: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}})
	for i := range 200 { // so that the machine is found long after the entry
		h.mark(fmt.Sprintf("entry-%d", i), Mark{Cluster: "b", Ranges: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}})
	}
	h.exit("machine", "a", "machine of a")
	h.eventually("entry", "10.244.0.5:80", "machine of a")
	conn, err := dialThrough(t.Context(), entry, netip.MustParseAddrPort("10.244.0.5:80"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	carried := bufio.NewReader(conn)
	if _, err := carried.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(entry, Socket))
	if err != nil {
		t.Fatal(err)
	}
	run(t, (&Server{Dir: h.dir, Log: log}).Run)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		now, err := os.Stat(filepath.Join(entry, Socket))
		if err != nil {
			t.Fatalf("an API server finds no egress: %v", err)
		}
		if !os.SameFile(before, now) {
			break
		}
		<-tick.C
	}
	close(leave)
	for i := range 3 {
		if _, err := h.call("entry", "10.244.0.5:80"); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
		if _, err := io.WriteString(conn, "still here\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := carried.ReadString('\n'); err != nil || got != "still here\n" {
			t.Errorf("what was carried is cut: %q, %v", got, err)
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("it has ended before its last connection: %v", err)
	default:
	}
	_ = conn.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestFirstCall: a call that comes as soon as there is a socket is judged by the mark of its entry.
func TestFirstCall(t *testing.T) {
	h := &host{t, t.TempDir()}
	dir := h.mark("entry", Mark{Cluster: "a", Ranges: pods})
	s := h.server(nil)
	s.marks, s.allowed = map[string]known{}, map[*allowed]bool{}
	// Serving the socket waits until another entry has ended, so that there is time to look.
	entries, before := &errgroup.Group{}, make(chan struct{})
	entries.SetLimit(1)
	entries.Go(func() error { <-before; return nil })
	ctx, cancel := context.WithCancel(t.Context())
	taken := make(chan error, 1)
	go func() { taken <- s.take(ctx, ctx, entries, "entry", time.Now()) }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Lstat(filepath.Join(dir, Socket)); err == nil {
			break
		}
		<-tick.C
	}
	if got := s.entry("entry"); got.Cluster != "a" {
		t.Errorf("there is a socket, and calls are judged by %+v", got)
	}
	close(before)
	if err := <-taken; err != nil {
		t.Error(err)
	}
	cancel()
	_ = entries.Wait()
}

// TestLeavesTheListBehind: what is taken back is cut in one that leaves, too.
func TestLeavesTheListBehind(t *testing.T) {
	h, leave := &host{t, t.TempDir()}, make(chan struct{})
	run(t, h.server(leave).Run)
	mark := Mark{Cluster: "a", Ranges: pods, Allowed: []Destination{destination(t, "203.0.113.7:8443")}}
	h.mark("entry", mark)
	h.eventually("entry", "203.0.113.7:8443", "outside")
	cut := h.open("entry", "203.0.113.7:8443")
	close(leave)
	h.eventually("entry", "203.0.113.7:8443", "connection refused")
	mark.Allowed = nil
	h.mark("entry", mark)
	h.mark("other", Mark{Cluster: "b", Ranges: pods}) // what makes the server look again
	if err := cut.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := cut.Read(make([]byte, 1)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("what is allowed no more is still connected: %d bytes, %v", n, err)
	}
	if _, err := os.Lstat(filepath.Join(h.dir, "other", Socket)); err == nil {
		t.Error("one that leaves has opened a socket")
	}
}

// TestTakesItsPlaceBack: an egress that is to be replaced has its sockets again when the other one ends before it has left, and cuts nothing.
func TestTakesItsPlaceBack(t *testing.T) {
	h := &host{t, t.TempDir()}
	s := h.server(nil)
	s.interval = 10 * time.Millisecond
	run(t, s.Run)
	entry := h.mark("entry", Mark{Cluster: "a", Ranges: pods, Allowed: []Destination{destination(t, "203.0.113.7:8443")}})
	h.eventually("entry", "203.0.113.7:8443", "outside")
	conn := h.open("entry", "203.0.113.7:8443")
	other, err := Listen(entry)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	h.eventually("entry", "203.0.113.7:8443", "outside") // which the other one never answers
	if _, err := io.WriteString(conn, "more"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("more"))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "more" {
		t.Errorf("what was connected answers %q: %v", got, err)
	}
}

// TestServerSaysWhatItRefuses: what the kernel's routes forbid is in the log, as is what the mark forbids.
func TestServerSaysWhatItRefuses(t *testing.T) {
	h, said := &host{t, t.TempDir()}, &bytes.Buffer{}
	s := h.server(nil)
	s.Log, s.interval = slog.New(slog.NewTextHandler(said, nil)), 10*time.Millisecond
	s.direct = func(_ context.Context, target netip.AddrPort) (net.Conn, error) {
		return nil, &refusedError{target.String(), "it leads to the host"}
	}
	stop := run(t, s.Run)
	h.mark("entry", Mark{
		Cluster: "a", Ranges: pods, Allowed: []Destination{destination(t, "198.51.100.7:443")}, Kubelets: []netip.Addr{netip.MustParseAddr("240.0.0.1")},
	})
	targets := []string{"198.51.100.7:443", "240.0.0.1:10250", "198.51.100.8:443"} // allowed, a kubelet, and neither
	for _, target := range targets {
		h.eventually("entry", target, "are refused")
	}
	stop()
	for _, target := range targets {
		if want := "calls from this API server to " + target + " are refused"; !strings.Contains(said.String(), want) {
			t.Errorf("the log does not say that %s:\n%s", want, said)
		}
	}
}
