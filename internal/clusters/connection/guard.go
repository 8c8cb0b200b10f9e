//go:build linux

package connection

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	"kqueen.io/kqueen/internal/hosting/egress"
)

const (
	// dialWithin bounds one connection, from the question for the name on.
	dialWithin = 10 * time.Second
	// mostAddresses is how many addresses of a name are tried.
	mostAddresses = 8
)

// Guard dials the API servers that kubeconfigs of users name, and other hosts that users of the API name. It refuses what only this host, its machines or its cloud would
// answer, whatever a name says at another time: each address is judged when it is dialed. The zero value opens nothing.
type Guard struct {
	// For says whom it guards, and Flag of "kqueen up" opens addresses; that is "adopted clusters" and --import-allow when they are empty.
	For, Flag string
	// Allowed is what the administrator of the installation opens, the addresses of this host among it.
	Allowed []egress.Destination
	// Own says of an address that KQueen itself serves there what may be adopted, although it is closed to others; nil for none.
	Own func(netip.AddrPort) bool
	// Machines is the network of this host's machines; not valid for none.
	Machines netip.Prefix
	// Lookup resolves a name; nil for the host's resolver.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
}

// RefusedError says that a call goes where kubeconfigs of users do not lead.
type RefusedError struct {
	Target netip.AddrPort
	// As is what the address is, such as "the loopback addresses".
	As string
	// For and Flag are those of the Guard.
	For, Flag string
}

// Error says what the administrator of the installation can do.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is closed to %s: it is among %s; an administrator of the installation can open it with kqueen up %s %s",
		e.Target, cmp.Or(e.For, "adopted clusters"), e.As, cmp.Or(e.Flag, "--import-allow"), e.Target)
}

// judge says why an address is closed; nil when it is not.
func (g *Guard) judge(target netip.AddrPort) error {
	if target.Addr().Zone() != "" {
		return &RefusedError{target, "the link-local addresses", g.For, g.Flag}
	}
	if g.Own != nil && g.Own(target) {
		return nil
	}
	if slices.ContainsFunc(g.Allowed, func(d egress.Destination) bool { return d.Holds(target) }) {
		return nil
	}
	as := egress.ClosedAnywhere(target.Addr())
	if as == "" && g.Machines.Contains(target.Addr()) {
		as = "the network of machines on KQueen's host"
	}
	if as != "" {
		return &RefusedError{target, as, g.For, g.Flag}
	}
	here, err := egress.LeadsHere(target.Addr())
	if err != nil {
		return err
	}
	if here {
		return &RefusedError{target, "the addresses of KQueen's host", g.For, g.Flag}
	}
	return nil
}

// DialContext connects with host:port. A name that leads to several addresses of which one is closed is refused as a whole: no
// cluster has such a name by accident.
func (g *Guard) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("read the address %.100q: %w", address, err)
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("read the port of %.100q: %w", address, err)
	}
	addrs, err := g.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if err := g.judge(netip.AddrPortFrom(addr, uint16(port))); err != nil {
			return nil, err
		}
	}
	dialer := &net.Dialer{Control: g.control}
	for _, addr := range addrs {
		var conn net.Conn
		if conn, err = dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(addr, uint16(port)).String()); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// resolve returns the addresses of a host, at least one.
func (g *Guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap()}, nil
	}
	lookup := g.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	found, err := lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the name %s has no address", host)
	}
	addrs := make([]netip.Addr, 0, len(found))
	for _, addr := range found {
		addrs = append(addrs, addr.Unmap())
	}
	return addrs[:min(len(addrs), mostAddresses)], nil
}

// control judges the address that the kernel is handed: whatever was resolved before, no other one is called.
func (g *Guard) control(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("read the address that is called: %w", err)
	}
	return g.judge(netip.AddrPortFrom(target.Addr().Unmap(), target.Port()))
}
