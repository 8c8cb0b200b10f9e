package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// direct connects from this host with another one. The kernel is asked where the address leads, because a host answers at more
// addresses than its interfaces have: at ranges that are routed to it, and at the first address of each network of IPv6 while it
// forwards.
func direct(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
	routes, err := netlink.RouteGet(target.Addr().AsSlice())
	if err != nil {
		return nil, fmt.Errorf("look for the route to %s: %w", target.Addr(), err)
	}
	for _, r := range routes {
		if r.Type != unix.RTN_UNICAST {
			return nil, &refusedError{target.String(), "it leads to the host; " + instead}
		}
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", target.String())
}
