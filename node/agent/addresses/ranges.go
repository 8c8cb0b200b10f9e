package addresses

import (
	"fmt"
	"net/netip"
	"strings"
)

// Range are addresses from First to Last, both among them.
type Range struct{ First, Last netip.Addr }

// ParseRanges reads ranges of IPv4 addresses, separated by commas, each as 192.0.2.10-192.0.2.20, 192.0.2.0/28 or 192.0.2.7. The
// network's own address and its broadcast address are not among those of a prefix shorter than /31.
func ParseRanges(text string) ([]Range, error) {
	var all []Range
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		r, err := parseRange(part)
		if err != nil {
			return nil, fmt.Errorf("%q is no range of IPv4 addresses (%w); must be such as 192.0.2.10-192.0.2.20 or 192.0.2.0/28", part, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func parseRange(text string) (Range, error) {
	if strings.Contains(text, "/") {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return Range{}, err
		}
		return ofPrefix(prefix)
	}
	first, last, two := strings.Cut(text, "-")
	if !two {
		last = first
	}
	from, err := netip.ParseAddr(strings.TrimSpace(first))
	if err != nil {
		return Range{}, err
	}
	to, err := netip.ParseAddr(strings.TrimSpace(last))
	if err != nil {
		return Range{}, err
	}
	if !from.Is4() || !to.Is4() || to.Less(from) {
		return Range{}, fmt.Errorf("from %s to %s", from, to)
	}
	return Range{from, to}, nil
}

func ofPrefix(p netip.Prefix) (Range, error) {
	if !p.Addr().Is4() {
		return Range{}, fmt.Errorf("%s is not of IPv4", p)
	}
	r := Range{p.Masked().Addr(), lastOf(p)}
	if p.Bits() < p.Addr().BitLen()-1 {
		r = Range{r.First.Next(), r.Last.Prev()}
	}
	return r, nil
}

// lastOf is the last address of a prefix of IPv4, which is its broadcast address.
func lastOf(p netip.Prefix) netip.Addr {
	const eight = 8
	a := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < p.Addr().BitLen(); bit++ {
		a[bit/eight] |= 1 << (eight - 1 - bit%eight)
	}
	return netip.AddrFrom4(a)
}

// LastOf are the last n addresses of a network, without its broadcast address: those that KQueen leaves to Services in the network
// of machines on its host.
func LastOf(network netip.Prefix, n int) Range {
	last := lastOf(network).Prev()
	first := last
	for range n - 1 {
		first = first.Prev()
	}
	return Range{first, last}
}

// Contains says whether an address is in the range.
func (r Range) Contains(a netip.Addr) bool { return !a.Less(r.First) && !r.Last.Less(a) }

func (r Range) String() string { return r.First.String() + "-" + r.Last.String() }
