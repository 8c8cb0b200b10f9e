package policies

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
)

// Direction is that of the first packet of a connection, seen from the isolated pod.
type Direction string

// The directions of networking.k8s.io/v1.
const (
	Ingress Direction = "ingress"
	Egress  Direction = "egress"
)

// Family is a version of IP, or both.
type Family uint8

// The families.
const (
	AnyFamily Family = 0
	IPv4      Family = 4
	IPv6      Family = 6
)

func familyOf(a netip.Addr) Family {
	if a.Is4() {
		return IPv4
	}
	return IPv6
}

// Ports is a range of ports of a protocol.
type Ports struct {
	Protocol    uint8 // number of IANA: 6 is TCP, 17 is UDP, 132 is SCTP
	First, Last uint16
}

// Endpoint is a port of a pod.
type Endpoint struct {
	Address  netip.Addr
	Protocol uint8
	Port     uint16
}

// Set is what a packet is looked up in. One of its three lists is filled. It has one family, or none if it is of ports.
type Set struct {
	Family    Family
	Addresses []netipx.IPRange // sorted, without overlaps
	Ports     []Ports          // sorted, without overlaps
	Endpoints []Endpoint       // sorted, without repetitions
}

// size is how many elements the kernel keeps of the set.
func (s Set) size() int { return 2*len(s.Addresses) + len(s.Ports) + len(s.Endpoints) }

// name says what is in the set: two sets of a name are the same. A hash of 128 bits, because users of a cluster choose what is hashed.
func (s Set) name() string {
	kind := "endpoints"
	switch {
	case s.Addresses != nil:
		kind = "addresses"
	case s.Ports != nil:
		return "ports-" + hash(s.String())
	}
	return fmt.Sprintf("%s%d-%s", kind, s.Family, hash(s.String()))
}

// String lists the elements.
func (s Set) String() string {
	var out []string
	for _, r := range s.Addresses {
		if r.From() == r.To() {
			out = append(out, r.From().String())
			continue
		}
		out = append(out, r.String())
	}
	for _, p := range s.Ports {
		out = append(out, fmt.Sprintf("%d . %d-%d", p.Protocol, p.First, p.Last))
	}
	for _, e := range s.Endpoints {
		out = append(out, fmt.Sprintf("%s . %d . %d", e.Address, e.Protocol, e.Port))
	}
	return strings.Join(out, ", ")
}

// Rule returns a packet of its family to the base chain, which lets it through, if it is in all sets that the rule names.
type Rule struct {
	Family    Family
	Addresses string // of the peer: the source of an ingress chain, the destination of an egress chain
	Ports     string // protocol and destination port
	Endpoints string // destination address, protocol and port
}

func (r Rule) text(d Direction) string {
	var out []string
	ip := map[Family]string{IPv4: "ip ", IPv6: "ip6 "}[r.Family]
	if r.Addresses != "" {
		out = append(out, ip+map[Direction]string{Ingress: "saddr @", Egress: "daddr @"}[d]+r.Addresses)
	}
	if r.Ports != "" {
		out = append(out, "meta l4proto . th dport @"+r.Ports)
	}
	if r.Endpoints != "" {
		out = append(out, ip+"daddr . meta l4proto . th dport @"+r.Endpoints)
	}
	return strings.Join(append(out, "return"), " ")
}

// Chain drops each packet that none of its rules returns.
type Chain struct {
	Direction Direction
	Rules     []Rule // sorted, without repetitions: their order does not matter
}

func (c Chain) name() string { return string(c.Direction) + "-" + hash(c.String()) }

// String lists the rules, one a line.
func (c Chain) String() string {
	var b strings.Builder
	for _, r := range c.Rules {
		b.WriteString("\t\t" + r.text(c.Direction) + "\n")
	}
	return b.String() + "\t\tdrop\n"
}

// Ruleset is what the packet filter of a node does.
type Ruleset struct {
	Sets     map[string]Set                      // by name
	Chains   map[string]Chain                    // by name
	Isolated map[Direction]map[netip.Addr]string // name of the chain, by address of a pod of this node
	// LeftOut are the policies and pods of which something was left out because of a bound. It allows nothing, and the pods stay isolated.
	LeftOut []string
}

// Own are the addresses of isolated pods, sorted. A pod can always reach itself.
func (r Ruleset) Own() []netip.Addr {
	all := slices.Concat(slices.Collect(maps.Keys(r.Isolated[Ingress])), slices.Collect(maps.Keys(r.Isolated[Egress])))
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// String is the table much as nft prints it, for readers, tests and comparison.
func (r Ruleset) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Sets)) {
		fmt.Fprintf(&b, "\tset %s { %s }\n", name, r.Sets[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Chains)) {
		fmt.Fprintf(&b, "\tchain %s {\n%s\t}\n", name, r.Chains[name])
	}
	for _, d := range []Direction{Egress, Ingress} {
		for _, a := range slices.SortedFunc(maps.Keys(r.Isolated[d]), netip.Addr.Compare) {
			fmt.Fprintf(&b, "\t%s %s : jump %s\n", d, a, r.Isolated[d][a])
		}
	}
	return b.String()
}

func compareRules(a, b Rule) int {
	return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Addresses, b.Addresses), cmp.Compare(a.Ports, b.Ports), cmp.Compare(a.Endpoints, b.Endpoints))
}

func compareEndpoints(a, b Endpoint) int {
	return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Port, b.Port))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
