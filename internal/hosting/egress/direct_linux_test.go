package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/osthread"
)

// TestDirectLeavesTheHost: a range that is routed to this host is on none of its interfaces, and leads to it all the same.
func TestDirectLeavesTheHost(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes a network of its own")
	}
	failed := make(chan error, 1)
	osthread.Spend(func() { failed <- refusesRouted(t.Context()) })
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

// refusesRouted calls such a range in a network of its own.
func refusesRouted(ctx context.Context) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	_, routed, err := net.ParseCIDR("198.51.100.0/24")
	if err != nil {
		return err
	}
	route := &netlink.Route{LinkIndex: lo.Attrs().Index, Dst: routed, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: unix.RT_SCOPE_HOST}
	if err := errors.Join(netlink.LinkSetUp(lo), netlink.RouteAdd(route)); err != nil {
		return err
	}
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		return err
	}
	target := netip.AddrPortFrom(netip.MustParseAddr("198.51.100.7"), l.Addr().(*net.TCPAddr).AddrPort().Port())
	conn, err := direct(ctx, target)
	if err == nil {
		return errors.Join(errors.New("the host was called"), conn.Close(), l.Close())
	}
	if !strings.Contains(err.Error(), "are refused: it leads to the host") {
		return errors.Join(err, l.Close())
	}
	return l.Close()
}
