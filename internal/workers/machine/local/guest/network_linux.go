package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/links"
	"kqueen.io/kqueen/internal/platform/osthread"
	"kqueen.io/kqueen/internal/workers/node"
)

// inside is the name of the machine's end of its link.
const inside = "eth0"

// networks are the host's and the machine's.
type networks struct {
	hostFD, hereFD int
	host, here     *netlink.Handle
}

// openNetworks takes the networks as open files, which stay the caller's.
func openNetworks(host, here int) (*networks, error) {
	n := &networks{hostFD: host, hereFD: here}
	var err error
	if n.host, err = netlink.NewHandleAt(netns.NsHandle(host)); err != nil {
		return nil, fmt.Errorf("speak to the host's network: %w", err)
	}
	if n.here, err = netlink.NewHandleAt(netns.NsHandle(here)); err != nil {
		n.host.Close()
		return nil, fmt.Errorf("speak to the machine's network: %w", err)
	}
	return n, nil
}

func (n *networks) close() {
	n.host.Close()
	n.here.Close()
}

// inNetwork runs f on a thread that is in a network: what is opened there belongs to it, wherever it is used.
func inNetwork(network int, f func() error) error {
	done := make(chan error, 1)
	osthread.Spend(func() {
		if err := unix.Setns(network, unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("enter a network: %w", err)
			return
		}
		done <- f()
	})
	return <-done
}

// make connects the machine to its cluster's bridge. What an earlier life has left is replaced.
func (n *networks) make(w Network, forwards []Forward) error {
	bridge, err := n.makeBridge(w)
	if err != nil {
		return fmt.Errorf("make bridge %s: %w", w.Bridge, err)
	}
	if err := guard(n.hostFD, w); err != nil {
		return fmt.Errorf("guard bridge %s: %w", w.Bridge, err)
	}
	if err := n.makeLink(w, bridge); err != nil {
		return fmt.Errorf("make link %s: %w", w.Link, err)
	}
	if err := n.setUp(w, forwards); err != nil {
		return fmt.Errorf("set up the machine's network: %w", err)
	}
	return nil
}

// makeBridge is called by all machines of a cluster at once, perhaps.
func (n *networks) makeBridge(w Network) (netlink.Link, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = w.Bridge
	if err := n.host.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, err
	}
	bridge, err := n.host.LinkByName(w.Bridge)
	if err != nil {
		return nil, err
	}
	if err := n.host.AddrReplace(bridge, &netlink.Addr{IPNet: ipNet(w.Gateway)}); err != nil {
		return nil, fmt.Errorf("give it %s: %w", w.Gateway, err)
	}
	return bridge, n.host.LinkSetUp(bridge)
}

func (n *networks) makeLink(w Network, bridge netlink.Link) error {
	if err := links.Remove(n.host, w.Link); err != nil {
		return fmt.Errorf("remove what an earlier life has left: %w", err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex = w.Link, bridge.Attrs().Index
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: inside, PeerNamespace: netlink.NsFd(n.hereFD)}
	if err := n.host.LinkAdd(pair); err != nil {
		return err
	}
	return n.host.LinkSetUp(pair)
}

// setUp gives the machine its addresses, its way out, and what the kernel has to do for pods.
func (n *networks) setUp(w Network, forwards []Forward) error {
	lo, err := n.here.LinkByName("lo")
	if err != nil {
		return err
	}
	for _, f := range forwards {
		single := netip.PrefixFrom(f.Listen.Addr(), f.Listen.Addr().BitLen())
		if err := n.here.AddrReplace(lo, &netlink.Addr{IPNet: ipNet(single)}); err != nil {
			return fmt.Errorf("give lo %s: %w", single, err)
		}
	}
	if err := n.here.LinkSetUp(lo); err != nil {
		return err
	}
	eth, err := n.here.LinkByName(inside)
	if err != nil {
		return err
	}
	if err := n.here.AddrReplace(eth, &netlink.Addr{IPNet: ipNet(w.Address)}); err != nil {
		return fmt.Errorf("give %s %s: %w", inside, w.Address, err)
	}
	if err := n.here.LinkSetUp(eth); err != nil {
		return err
	}
	out := &netlink.Route{LinkIndex: eth.Attrs().Index, Gw: w.Gateway.Addr().AsSlice()}
	if err := n.here.RouteReplace(out); err != nil {
		return fmt.Errorf("make the way out by %s: %w", w.Gateway.Addr(), err)
	}
	return inNetwork(n.hereFD, node.SetKernel)
}

// routesInterval is the time between two looks at the file of routes.
const routesInterval = time.Second

// keepRoutes makes the routes that the file names, and removes those that it names no more.
func (n *networks) keepRoutes(ctx context.Context, file string, log *slog.Logger) error {
	tick := time.NewTicker(routesInterval)
	defer tick.Stop()
	var last time.Time
	have := map[Route]bool{}
	for {
		info, err := os.Stat(file)
		if err == nil && !info.ModTime().Equal(last) {
			if err := n.follow(file, have); err != nil {
				log.Error("routes are not as wanted; they are tried again", "error", err)
			} else {
				last = info.ModTime()
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// follow brings the routes from have to what the file says.
func (n *networks) follow(file string, have map[Route]bool) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var list []Route
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	want := map[Route]bool{}
	for _, r := range list {
		want[r] = true
	}
	for r := range have {
		if want[r] {
			continue
		}
		if err := n.here.RouteDel(r.netlink()); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("remove the route to %s: %w", r.To, err)
		}
		delete(have, r)
	}
	for r := range want {
		if err := n.here.RouteReplace(r.netlink()); err != nil {
			return fmt.Errorf("make the route to %s by %s: %w", r.To, r.Via, err)
		}
		have[r] = true
	}
	return nil
}

func (r Route) netlink() *netlink.Route {
	return &netlink.Route{Dst: ipNet(r.To), Gw: r.Via.AsSlice()}
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// RemoveBridge removes a cluster's bridge and its guard from the host's network, which is that of the
// caller. Nothing is no error. No machine of the cluster may be left.
func RemoveBridge(name string) error {
	if err := unguard(name); err != nil {
		return fmt.Errorf("remove the guard of bridge %s: %w", name, err)
	}
	return links.Remove(links.Here(), name)
}
