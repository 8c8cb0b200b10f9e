package guest

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/vishvananda/netlink"
)

// tunnel makes a network of its own between two machines, in packets to the port that flannel uses. Each has an
// address in it, 10.250.ID.1 and 10.250.ID.2.
func tunnel(t *testing.T, id int, ends [2]*place, at [2]Network) {
	t.Helper()
	for i, end := range ends {
		err := end.in(func() error {
			eth, err := netlink.LinkByName(inside)
			if err != nil {
				return err
			}
			attrs := netlink.NewLinkAttrs()
			attrs.Name = fmt.Sprintf("vx%d", id)
			link := &netlink.Vxlan{
				LinkAttrs: attrs, VxlanId: id, Port: 8472, VtepDevIndex: eth.Attrs().Index,
				SrcAddr: at[i].Address.Addr().AsSlice(), Group: net.IP(at[1-i].Address.Addr().AsSlice()),
			}
			if err := netlink.LinkAdd(link); err != nil {
				return err
			}
			inner := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 250, byte(id), byte(1 + i)}), 24)
			if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: ipNet(inner)}); err != nil {
				return err
			}
			return netlink.LinkSetUp(link)
		})
		if err != nil {
			t.Fatalf("make tunnel %d: %v", id, err)
		}
	}
}

// reachesSoon tries again: what the kernel has asked for an address in vain stays unknown for some seconds.
func (p *place) reachesSoon(address string) bool {
	for range 10 { // each takes up to a second
		if p.reaches(address) {
			return true
		}
	}
	return false
}

// TestGuardAndVXLAN: flannel carries pods' packets from machine to machine of a cluster in packets of UDP. The guard
// lets them pass, and stops those that a machine of another cluster sends.
func TestGuardAndVXLAN(t *testing.T) {
	needRoot(t)
	host, one, peer, foreign := newPlace(t), newPlace(t), newPlace(t), newPlace(t)
	if err := host.in(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) }); err != nil {
		t.Fatal(err)
	}
	a, b := one.machineAt(t, host, 1, 2), peer.machineAt(t, host, 1, 3)
	c := foreign.machineAt(t, host, 2, 2)
	tunnel(t, 1, [2]*place{one, peer}, [2]Network{a, b})
	tunnel(t, 2, [2]*place{one, foreign}, [2]Network{a, c})
	one.listen(t, "0.0.0.0:80")
	foreign.listen(t, "0.0.0.0:80")
	if !peer.reachesSoon("10.250.1.1:80") {
		t.Error("machines of one cluster do not reach each other")
	}
	if foreign.reaches("10.250.2.1:80") || one.reaches("10.250.2.2:80") {
		t.Error("machines of two clusters reach each other")
	}
	for _, w := range []Network{a, c} {
		if err := host.in(func() error { return unguard(w.Bridge) }); err != nil {
			t.Fatal(err)
		}
	}
	if !foreign.reachesSoon("10.250.2.1:80") {
		t.Error("without guard they do not either, so nothing was seen")
	}
}
