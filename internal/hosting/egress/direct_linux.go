package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// direct connects from this host with another one.
func direct(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
	here, err := LeadsHere(target.Addr())
	if err != nil {
		return nil, err
	}
	if here {
		return nil, &refusedError{target.String(), "it leads to the host; " + instead}
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", target.String())
}

// LeadsHere says whether an address leads to this host, or nowhere else. The kernel is asked, because a host answers at more
// addresses than its interfaces have: at ranges that are routed to it, and at the first address of each network of IPv6 while it
// forwards.
func LeadsHere(addr netip.Addr) (bool, error) {
	routes, err := netlink.RouteGet(addr.AsSlice())
	if err != nil {
		return false, fmt.Errorf("look for the route to %s: %w", addr, err)
	}
	return slices.ContainsFunc(routes, func(r netlink.Route) bool { return r.Type != unix.RTN_UNICAST }), nil
}
