package guest

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/osthread"
)

// place is a network of the test's own, and the one thread that is in it.
type place struct {
	do chan func()
	fd int
}

// newPlace makes a network that goes with the test.
func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{do: make(chan func())}
	made := make(chan error)
	osthread.Spend(func() {
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			p.fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		made <- err
		for f := range p.do {
			f()
		}
	})
	if err := <-made; err != nil {
		t.Fatalf("make a network: %v", err)
	}
	t.Cleanup(func() {
		close(p.do)
		_ = unix.Close(p.fd)
	})
	return p
}

// in runs f in the network.
func (p *place) in(f func() error) error {
	done := make(chan error)
	p.do <- func() { done <- f() }
	return <-done
}

// machine connects the first machine's network to its cluster's bridge in the host's.
func (p *place) machine(t *testing.T, host *place, cluster int, ports ...PortRange) Network {
	t.Helper()
	return p.machineAt(t, host, cluster, 2, ports...)
}

// machineAt connects the network of the machine with an address that ends with a number.
func (p *place) machineAt(t *testing.T, host *place, cluster int, number byte, ports ...PortRange) Network {
	t.Helper()
	address := func(last byte) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 9, byte(cluster), last}), 24)
	}
	w := Network{
		Bridge: fmt.Sprintf("kqb%d", cluster), Gateway: address(1), Link: fmt.Sprintf("kqv%d-%d", cluster, number), Address: address(number),
		HostPorts: ports,
	}
	err := p.in(func() error {
		n, err := openNetworks(host.fd, p.fd)
		if err != nil {
			return err
		}
		defer n.close()
		return n.make(w, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// listen answers connections in the network until the test ends.
func (p *place) listen(t *testing.T, address string) {
	t.Helper()
	var l net.Listener
	err := p.in(func() (err error) {
		l, err = net.Listen("tcp", address)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
}

// reaches says whether a connection from the network to the address can be made.
func (p *place) reaches(address string) bool {
	return p.in(func() error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	}) == nil
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root makes networks")
	}
}

// TestGuard has a host that forwards everything, and machines of two clusters.
func TestGuard(t *testing.T) {
	needRoot(t)
	host, one, two := newPlace(t), newPlace(t), newPlace(t)
	if err := host.in(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) }); err != nil {
		t.Fatal(err)
	}
	a := one.machine(t, host, 1, PortRange{First: 7000, Last: 7001})
	b := two.machine(t, host, 2)
	one.listen(t, "10.9.1.2:80")
	host.listen(t, "0.0.0.0:7001")
	host.listen(t, "0.0.0.0:7002")
	calls := map[string]struct {
		from *place
		to   string
	}{
		"host to machine":          {host, "10.9.1.2:80"},
		"machine to named port":    {one, "10.9.1.1:7001"},
		"machine to other port":    {one, "10.9.1.1:7002"},
		"machine to unnamed port":  {two, "10.9.2.1:7001"},
		"machine to other cluster": {two, "10.9.1.2:80"},
	}
	look := func(when string, want map[string]bool) {
		t.Helper()
		for what := range want { // first, so that all links carry packets by the time something must not get through
			if !calls[what].from.reachesSoon(calls[what].to) {
				t.Errorf("%s: %s: does not get through", when, what)
			}
		}
		for what, call := range calls {
			if !want[what] && call.from.reaches(call.to) {
				t.Errorf("%s: %s: gets through", when, what)
			}
		}
	}
	look("guarded", map[string]bool{"host to machine": true, "machine to named port": true})

	// Made again, as a machine that comes back does, it is the same; without it, everything is open.
	one.machine(t, host, 1, a.HostPorts...)
	look("guarded again", map[string]bool{"host to machine": true, "machine to named port": true})
	for _, w := range []Network{a, b} {
		if err := host.in(func() error { return unguard(w.Bridge) }); err != nil {
			t.Fatal(err)
		}
	}
	look("unguarded", map[string]bool{
		"host to machine": true, "machine to named port": true, "machine to other port": true,
		"machine to unnamed port": true, "machine to other cluster": true,
	})
	for _, w := range []Network{a, b, b} { // twice: nothing is no error
		if err := host.in(func() error { return RemoveBridge(w.Bridge) }); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRoutesFollowTheirFile makes and removes routes.
func TestRoutesFollowTheirFile(t *testing.T) {
	needRoot(t)
	host, one := newPlace(t), newPlace(t)
	one.machine(t, host, 1)
	file := filepath.Join(t.TempDir(), "routes.json")
	via := netip.MustParseAddr("10.9.1.3")
	have := map[Route]bool{}
	follow := func(routes ...Route) {
		t.Helper()
		data, err := json.Marshal(routes)
		if err == nil {
			err = os.WriteFile(file, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		err = one.in(func() error {
			n, err := openNetworks(host.fd, one.fd)
			if err != nil {
				return err
			}
			defer n.close()
			return n.follow(file, have)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// Everything but the pods' routes leads by the gateway.
	exists := func(to string) bool {
		found := false
		err := one.in(func() error {
			n, err := openNetworks(host.fd, one.fd)
			if err != nil {
				return err
			}
			defer n.close()
			routes, err := n.here.RouteGet(net.ParseIP(to))
			for _, r := range routes {
				found = found || r.Gw.Equal(via.AsSlice())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	first, second := Route{netip.MustParsePrefix("10.244.1.0/24"), via}, Route{netip.MustParsePrefix("10.244.2.0/24"), via}
	follow(first)
	if !exists("10.244.1.5") || exists("10.244.2.5") {
		t.Error("the route of the file is not there, or another one is")
	}
	follow(second)
	if exists("10.244.1.5") || !exists("10.244.2.5") {
		t.Error("the routes did not follow the file")
	}
}

// TestForward carries connections from a machine's network to one of the host, and calls of the API server into it.
func TestForward(t *testing.T) {
	needRoot(t)
	one := newPlace(t)
	err := one.in(func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	})
	if err != nil {
		t.Fatal(err)
	}
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		conn, err := echo.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(conn, conn)
		_ = conn.Close()
	}()
	carrier, err := listenIn(one.fd, netip.MustParseAddrPort("127.0.0.1:7001"))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := forward(t.Context(), carrier, netip.MustParseAddrPort(echo.Addr().String())); err != nil {
			slog.Error("forward", "error", err)
		}
	}()
	dialer := dialInside(one.fd, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")})
	conn, err := dialer(t.Context(), netip.MustParseAddrPort("127.0.0.1:7001"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	// The end of what we say arrives there, and what was said comes back whole.
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if conn, err := dialer(t.Context(), netip.MustParseAddrPort("127.0.0.2:7001")); err == nil {
		t.Errorf("an address that is neither a pod nor a Service is called: %v", conn.RemoteAddr())
	}
}
