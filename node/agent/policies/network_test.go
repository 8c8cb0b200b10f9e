package policies

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestMain fails when a test puts rules into the network namespace of the host, where they would drop packets between machines.
func TestMain(m *testing.M) {
	before := hostTables()
	code := m.Run()
	if after := hostTables(); !slices.Equal(before, after) {
		_, _ = fmt.Fprintf(os.Stderr, "tables of the host's packet filter: %q, and before the tests %q\n", after, before)
		code = 1
	}
	os.Exit(code)
}

func hostTables() (names []string) {
	conn, err := (Kernel{}).open()
	if err != nil {
		return nil // not root: the tests that write rules are skipped
	}
	tables, _ := ours(conn)
	for _, table := range tables {
		names = append(names, table.Name)
	}
	return names
}

// place is a network namespace of the test's own, and the one thread that is in it.
type place struct {
	do chan func()
	fd int
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{do: make(chan func())}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			p.fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		made <- err
		for f := range p.do {
			f()
		}
	}()
	if err := <-made; err != nil {
		t.Fatalf("make a network: %v", err)
	}
	t.Cleanup(func() {
		close(p.do)
		_ = unix.Close(p.fd)
	})
	return p
}

// in runs f in the namespace.
func (p *place) in(t testing.TB, f func() error) {
	t.Helper()
	done := make(chan error)
	p.do <- func() { done <- f() }
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// network is that of a node, as it has it for its pods: they are on the bridge cni0, and its filter sees their packets.
type network struct {
	node *place
	pods map[string]*place // by address
}

func newNetwork(t testing.TB) *network {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root creates network namespaces")
	}
	n := &network{node: newPlace(t), pods: map[string]*place{}}
	n.node.in(t, func() error {
		bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "cni0"}}
		if err := errors.Join(netlink.LinkAdd(bridge), write("net/ipv4/ip_forward", "1"), write("net/ipv6/conf/all/forwarding", "1"), write("net/bridge/bridge-nf-call-iptables", "1"), write("net/bridge/bridge-nf-call-ip6tables", "1")); err != nil {
			return err
		}
		return errors.Join(raise(bridge, "10.244.1.1/24", "fd00:1::1/64"), up("lo"))
	})
	n.join(t, "cni0", "veth-a", "10.244.1.1", "fd00:1::1", aIP+"/24", aIPv6+"/64")
	n.join(t, "cni0", "veth-b", "10.244.1.1", "fd00:1::1", bIP+"/24", bIPv6+"/64")
	n.join(t, "", "veth-c", "10.244.2.1", "fd00:2::1", cIP+"/24", cIPv6+"/64")
	return n
}

// join connects a namespace of a pod with the node: to a bridge of it, or beside, as what comes from another node does.
func (n *network) join(t testing.TB, bridge, name, gateway, gateway6 string, addresses ...string) {
	t.Helper()
	pod := newPlace(t)
	n.node.in(t, func() error {
		pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: "eth0", PeerNamespace: netlink.NsFd(pod.fd)}
		if err := netlink.LinkAdd(pair); err != nil {
			return err
		}
		if bridge == "" {
			return raise(pair, gateway+"/24", gateway6+"/64")
		}
		master, err := netlink.LinkByName(bridge)
		if err != nil {
			return err
		}
		return errors.Join(netlink.LinkSetMaster(pair, master), netlink.LinkSetHairpin(pair, true), netlink.LinkSetUp(pair))
	})
	pod.in(t, func() error {
		link, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		if err := errors.Join(up("lo"), raise(link, addresses...)); err != nil {
			return err
		}
		var routes error
		for _, to := range []string{gateway, gateway6} {
			routes = errors.Join(routes, netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: net.ParseIP(to)}))
		}
		return routes
	})
	for _, a := range addresses {
		n.pods[netip.MustParsePrefix(a).Addr().String()] = pod
	}
}

func write(setting, value string) error { return os.WriteFile("/proc/sys/"+setting, []byte(value), 0) }

func up(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

func raise(link netlink.Link, addresses ...string) error {
	err := netlink.LinkSetUp(link)
	for _, a := range addresses {
		prefix := netip.MustParsePrefix(a)
		address := &netlink.Addr{IPNet: &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}}
		if prefix.Addr().Is6() {
			address.Flags = unix.IFA_F_NODAD // it can be used at once
		}
		err = errors.Join(err, netlink.AddrAdd(link, address))
	}
	return err
}

// serve echoes at a port of a pod until the test ends.
func (n *network) serve(t testing.TB, protocol, address string, port int) {
	t.Helper()
	at := net.JoinHostPort(address, fmt.Sprint(port))
	n.pods[address].in(t, func() error {
		if protocol == "udp" {
			conn, err := net.ListenPacket(protocol, at)
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = conn.Close() })
			go func() {
				buffer := make([]byte, 100)
				for {
					n, from, err := conn.ReadFrom(buffer)
					if err != nil {
						return
					}
					_, _ = conn.WriteTo(buffer[:n], from)
				}
			}()
			return nil
		}
		listener, err := net.Listen(protocol, at)
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go echo(conn)
			}
		}()
		return nil
	})
}

func echo(conn net.Conn) {
	defer conn.Close()
	buffer := make([]byte, 100)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		_, _ = conn.Write(buffer[:n])
	}
}

const (
	arrives = 10 * time.Second       // what is allowed
	dropped = 150 * time.Millisecond // what is not: it takes no longer where it is
)

// dial returns a connection over which one message went there and back, or why not.
func (n *network) dial(t testing.TB, protocol, from, to string, port int, patience time.Duration) (conn net.Conn, err error) {
	t.Helper()
	n.pods[from].in(t, func() error {
		dialer := net.Dialer{Timeout: patience, LocalAddr: local(protocol, from)}
		conn, err = dialer.Dial(protocol, net.JoinHostPort(to, fmt.Sprint(port)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := exchange(conn, patience); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

func local(protocol, from string) net.Addr {
	if protocol == "udp" {
		return &net.UDPAddr{IP: net.ParseIP(from)}
	}
	return &net.TCPAddr{IP: net.ParseIP(from)}
}

// exchange asks and waits for the answer. A datagram is sent again each second, as programs do and TCP does by itself: a link that has just
// come up may lose one.
func exchange(conn net.Conn, patience time.Duration) error {
	end := time.Now().Add(patience)
	for {
		next := end
		if again := time.Now().Add(time.Second); conn.LocalAddr().Network() == "udp" && again.Before(end) {
			next = again
		}
		if err := conn.SetDeadline(next); err != nil {
			return err
		}
		if _, err := conn.Write([]byte("?")); err != nil {
			return err
		}
		_, err := conn.Read(make([]byte, 1))
		if !errors.Is(err, os.ErrDeadlineExceeded) || next.Equal(end) {
			return err
		}
	}
}
