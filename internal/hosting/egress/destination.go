package egress

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Destination is what a list of an administrator allows API servers to call beside their own clusters: one port of a range
// of addresses.
type Destination struct {
	Range netip.Prefix
	Port  uint16
}

// wanted shows how a destination is written.
const wanted = "an address or a range and a port, such as 192.0.2.7:443, 192.0.2.0/24:443 or [2001:db8::/64]:443"

// ParseDestination reads one. The name of a host is none: what it stands for can change between the look and the call.
func ParseDestination(text string) (Destination, error) {
	refuse := func(problem string) (Destination, error) {
		return Destination{}, fmt.Errorf("%.100q %s; write %s", text, problem, wanted)
	}
	host, digits, err := net.SplitHostPort(text)
	if err != nil {
		return refuse("is not an address and a port")
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || port == 0 {
		return refuse("has no port from 1 to 65535")
	}
	ranged, err := parseRange(host)
	if err != nil {
		return refuse("has neither an address nor a range")
	}
	if ranged.Addr().Is4In6() {
		return refuse("has an IPv4 address in the notation of IPv6")
	}
	d := Destination{Range: ranged.Masked(), Port: uint16(port)}
	if d.Range != ranged {
		return Destination{}, fmt.Errorf("%.100q has bits beside its network; write %s, or one address without a length", text, d)
	}
	return d, nil
}

// parseRange reads a range, or an address, which is a range of one.
func parseRange(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	addr, err := netip.ParseAddr(text)
	if err == nil && addr.Zone() != "" {
		err = fmt.Errorf("%q has a zone", text)
	}
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

// String writes it as it is read.
func (d Destination) String() string {
	at := d.Range.String()
	if d.Range.IsSingleIP() {
		at = d.Range.Addr().String()
	}
	return net.JoinHostPort(at, strconv.Itoa(int(d.Port)))
}

// Compare orders destinations.
func (d Destination) Compare(other Destination) int {
	return cmp.Or(d.Range.Compare(other.Range), cmp.Compare(d.Port, other.Port))
}

// Holds says whether a call goes there.
func (d Destination) Holds(target netip.AddrPort) bool { return d.holds(target) }

func (d Destination) holds(target netip.AddrPort) bool {
	return d.Port == target.Port() && d.Range.Contains(target.Addr())
}

// MarshalText writes it as it is read.
func (d Destination) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads it.
func (d *Destination) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDestination(string(text))
	return err
}

// Closed is a range of addresses that no list opens.
type Closed struct {
	Range netip.Prefix
	// As says what it is, such as "the link-local addresses".
	As string
}

// Check says why a list cannot allow d. here are the ranges that are closed on this host, beside those that are everywhere. A
// range may hold single addresses that are closed: calls to these are refused all the same. It is pure.
func (d Destination) Check(here []Closed) error {
	if !d.Range.IsValid() {
		return fmt.Errorf("an entry is empty; write %s", wanted)
	}
	if d.Port == kubeletPort {
		return fmt.Errorf("%s cannot be allowed: port %d is that of kubelets, of which an API server calls those of its own cluster alone", d, kubeletPort)
	}
	for _, c := range slices.Concat(special, metadata, here) {
		if c.Range.Overlaps(d.Range) && (d.Range.IsSingleIP() || !c.Range.IsSingleIP()) {
			return fmt.Errorf("%s cannot be allowed: it overlaps %s, %s", d, c.Range, c.As)
		}
	}
	return nil
}

// special are the ranges that mean the same everywhere: pods and Services have none of them. Where IPv6 wraps an address of
// IPv4, a router, or the host itself, may unwrap it, and then it is one that was refused: RFC 4291 2.5.5, 6052 2.1, 8215, 3056
// and 4380.
var special = slices.Concat(
	closedAs("the loopback addresses", "127.0.0.0/8"),
	closedAs("the link-local addresses", "169.254.0.0/16", "fe80::/10"),
	closedAs("the addresses of a host that has none yet", "0.0.0.0/8"),
	closedAs("the addresses of groups", "224.0.0.0/4", "ff00::/8", "255.255.255.255/32"),
	closedAs("IPv4 addresses in IPv6, and its loopback", "::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"),
)

// metadata is where clouds tell a machine its credentials, beside the link-local addresses: a call from this host gets the host's.
var metadata = closedAs("the metadata of a cloud",
	"100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::254/128", "fd20:ce::254/128", "fd00:c1::a9fe:a9fe/128")

func closedAs(as string, ranges ...string) []Closed {
	var out []Closed
	for _, r := range ranges {
		out = append(out, Closed{netip.MustParsePrefix(r), as})
	}
	return out
}

// ClosedAnywhere says what an address is that means the same on every host, or is the metadata of a cloud, such as "the loopback
// addresses"; empty when it is none of these. It is pure.
func ClosedAnywhere(addr netip.Addr) string {
	for _, c := range slices.Concat(special, metadata) {
		if c.Range.Contains(addr) {
			return c.As
		}
	}
	return ""
}

func isIn(closed []Closed, addr netip.Addr) bool {
	return slices.ContainsFunc(closed, func(c Closed) bool { return c.Range.Contains(addr) })
}
