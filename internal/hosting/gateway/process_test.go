package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "routes.json")
	table, err := OpenTable(file)
	if err != nil {
		t.Fatal(err)
	}
	to := netip.MustParseAddrPort("127.0.0.1:20001")
	for _, err := range []error{table.Set("A.org.test.", Route{Backend: to}), table.Set("b.org.test", Route{Backend: to}), table.Remove("B.org.test"), table.Remove("none.org.test")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	again, err := OpenTable(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]Route{"a.org.test": {Backend: to}}, again.routes, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	for host, backend := range map[string]netip.AddrPort{".": to, "a.org.test": {}} {
		if table.Set(host, Route{Backend: backend}) == nil {
			t.Errorf("a route for %q to %v was taken", host, backend)
		}
		if table.Replace(map[string]Route{host: {Backend: backend}}) == nil {
			t.Errorf("a table with a route for %q to %v was taken", host, backend)
		}
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Set("a.org.test", Route{Backend: to}); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was written although nothing has changed: %v", err)
	}
}

// A file that is damaged is nothing, and said.
func TestDamagedTable(t *testing.T) {
	for _, data := range []string{"", "{", "null", "[]", `{"a.org.test":"nowhere"}`, `{"a.org.test":"127.0.0.1:0"}`, `{"A.org.test":"127.0.0.1:1"}`, `{"":"127.0.0.1:1"}`} {
		file := filepath.Join(t.TempDir(), "routes.json")
		if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		table, err := OpenTable(file)
		if err == nil || len(table.routes) != 0 {
			t.Errorf("%q: got %v and %v, want no routes and an error", data, table.routes, err)
		}
		if err := table.Replace(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenTable(file); err != nil {
			t.Errorf("%q stays: %v", data, err)
		}
	}
}

func FuzzParseTable(f *testing.F) {
	for _, seed := range []string{"{}", "null", `{"a.org.test":"127.0.0.1:20001"}`, `{"A.":"[::1]:1"}`, `{"a.org.test":{"backend":"127.0.0.1:1","asleep":{"listen":":1","handover":"/h","wake":"/w","nodes":["10.0.0.1"]}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		routes, err := parseTable(data)
		g := New(Config{})
		for host, backend := range routes {
			if err := g.set(host, backend); err != nil {
				t.Errorf("a route that was read is refused: %v", err)
			}
		}
		if err == nil && len(g.hosts()) != len(routes) {
			t.Errorf("%d routes were read and there are %d", len(routes), len(g.hosts()))
		}
	})
}

// TestProcess: the process has its routes from a file. It needs no KQueen, and a file that is damaged or lost harms no
// route that it has.
func TestProcess(t *testing.T) {
	dir := t.TempDir()
	p := Process{Listen: freeAddress(t), Handover: filepath.Join(dir, "handover"), Health: freeAddress(t), Routes: filepath.Join(dir, "routes.json"), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	table, err := OpenTable(p.Routes)
	if err != nil {
		t.Fatal(err)
	}
	to := netip.MustParseAddrPort(backend(t, echo).String())
	if err := table.Set("a.org.test", Route{Backend: to}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	eventually(t, func() error { return healthy(p.Health) })
	open := dial(t, p.Listen)
	mustExchange(t, open, helloOf(t, "a.org.test"))

	if err := os.WriteFile(p.Routes, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Another KQueen begins, and has one more.
	table, err = OpenTable(p.Routes)
	if err == nil {
		t.Error("the table is not said to be damaged")
	}
	mustExchange(t, dial(t, p.Listen), helloOf(t, "a.org.test"))
	if err := table.Replace(map[string]Route{"a.org.test": {Backend: to}, "b.org.test": {Backend: to}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return exchange(dial(t, p.Listen), helloOf(t, "b.org.test")) })
	mustExchange(t, open, []byte("still here"))

	if err := table.Remove("a.org.test"); err != nil {
		t.Fatal(err)
	}
	if got := rest(t, open); len(got) != 0 {
		t.Errorf("got %q, want the end", got)
	}
	if err := os.Remove(p.Routes); err != nil {
		t.Fatal(err)
	}
	mustExchange(t, dial(t, p.Listen), helloOf(t, "b.org.test"))

	if err := exchange(dial(t, p.Listen), helloOf(t, "none.org.test")); err == nil {
		t.Error("a name that no control plane has was answered")
	}
	eventually(t, func() error {
		return counted(p.Health, outcomeNoHost, outcomePassed)
	})
}

// TestProcessLeaves: when another process takes the place of a gateway no connection is refused and none is cut; the first one ends
// with its last connection, and follows the routes until then.
func TestProcessLeaves(t *testing.T) {
	dir := t.TempDir()
	first := Process{
		Listen: freeAddress(t), Handover: filepath.Join(dir, "handover"), Health: freeAddress(t), Routes: filepath.Join(dir, "routes.json"),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	second := first
	second.Health = freeAddress(t)
	table, err := OpenTable(first.Routes)
	if err != nil {
		t.Fatal(err)
	}
	to := netip.MustParseAddrPort(backend(t, echo).String())
	if err := table.Replace(map[string]Route{"a.org.test": {Backend: to}, "b.org.test": {Backend: to}}); err != nil {
		t.Fatal(err)
	}
	leave := make(chan struct{})
	first.Leave = leave
	ended := begin(t, first)
	open, other := dial(t, first.Listen), dial(t, first.Listen)
	mustExchange(t, open, helloOf(t, "a.org.test"))
	mustExchange(t, other, helloOf(t, "b.org.test"))

	stop, refused := make(chan struct{}), make(chan error, 1)
	go func() { refused <- knock(first.Listen, stop) }()
	begin(t, second)
	eventually(t, func() error { return served(t, dir, 2) })
	close(leave)
	eventually(t, func() error { return served(t, dir, 1) })
	eventually(t, func() error { // another one of the first one's build has its port then
		l, err := net.Listen("tcp", first.Health) //nolint:noctx // it is in this process
		if err != nil {
			return err
		}
		return l.Close()
	})
	mustExchange(t, open, []byte("still here"))
	mustExchange(t, dial(t, first.Listen), helloOf(t, "b.org.test"))
	close(stop)
	if err := <-refused; err != nil {
		t.Errorf("a connection was refused: %v", err)
	}
	if err := table.Remove("b.org.test"); err != nil {
		t.Fatal(err)
	}
	if got := rest(t, other); len(got) != 0 {
		t.Errorf("got %q of a name that is gone, want the end", got)
	}
	select {
	case err := <-ended:
		t.Fatalf("it has ended before its last connection: %v", err)
	default:
	}
	mustExchange(t, open, []byte("still here"))
	_ = open.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// begin runs a process until the test ends, and returns when it is healthy.
func begin(t *testing.T, p Process) (ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done, gone := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(gone)
		done <- p.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-gone
	})
	eventually(t, func() error { return healthy(p.Health) })
	return done
}

// knock connects again and again until it is stopped.
func knock(address string, stop <-chan struct{}) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-tick.C:
		}
		conn, err := net.Dial("tcp", address) //nolint:noctx // it is in this process
		if err != nil {
			return err
		}
		_ = conn.Close()
	}
}

// served looks that so many processes offer the port.
func served(t *testing.T, dir string, want int) error {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "handover", "*"))
	if err == nil && len(found) != want {
		err = fmt.Errorf("%d processes offer the port, want %d", len(found), want)
	}
	return err
}

// counted looks that there was a connection of each outcome.
func counted(address string, outcomes ...string) error {
	answer, err := http.Get("http://" + address + "/metrics") //nolint:noctx // it is in this process
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	for _, outcome := range outcomes {
		count := fmt.Sprintf("kqueen_gateway_connections_total{outcome=%q} ", outcome)
		if err == nil && (!strings.Contains(string(body), count) || strings.Contains(string(body), count+"0\n")) {
			err = fmt.Errorf("%s is none:\n%s", outcome, body)
		}
	}
	return err
}

func TestProcessSaysThatItsPortIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	taken, free := l.Addr().String(), freeAddress(t)
	for _, p := range []Process{{Listen: taken, Health: free}, {Listen: free, Health: taken}} {
		if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), taken) {
			t.Errorf("got %v, want that %s is taken", err, taken)
		}
	}
}

// freeAddress is one on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	return l.Addr().String()
}

func healthy(address string) error {
	answer, err := http.Get("http://" + address + "/healthz") //nolint:noctx // it is in this process
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "ok\n" {
		return errors.New("it is not healthy")
	}
	return nil
}
