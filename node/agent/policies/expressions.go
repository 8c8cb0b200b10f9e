package policies

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Where the fields stand in the headers, in bytes (RFC 791, RFC 8200, and RFC 9293, 768 and 9260 for the port).
const (
	destinationPortOffset = 2
	portLength            = 2
)

// layout is that of a family.
type layout struct {
	protocol            byte // as nft calls it: a value of meta nfproto
	source, destination uint32
	length              uint32
	address             nftables.SetDatatype
}

var layouts = map[Family]layout{
	IPv4: {protocol: unix.NFPROTO_IPV4, source: 12, destination: 16, length: 4, address: nftables.TypeIPAddr},
	IPv6: {protocol: unix.NFPROTO_IPV6, source: 8, destination: 24, length: 16, address: nftables.TypeIP6Addr},
}

// word is the kernel's register of that number of 32 bits. The fields of a concatenation stand side by side, each in whole words.
func word(n uint32) uint32 { return unix.NFT_REG32_00 + n }

func pairName(f Family) string              { return fmt.Sprintf("own%d", f) }
func jumpName(d Direction, f Family) string { return fmt.Sprintf("%s%d", d, f) }

// baseRules are of the forward chain, where every packet of a pod passes that is not from or to its node itself. The last verdict is the
// chain's default, to accept, which leaves the tables of others their say.
func baseRules() [][]expr.Any {
	rules := [][]expr.Any{
		{
			&expr.Ct{Key: expr.CtKeySTATE, Register: word(0)},
			&expr.Bitwise{
				SourceRegister: word(0), DestRegister: word(0), Len: 4, Xor: make([]byte, 4),
				Mask: binary.NativeEndian.AppendUint32(nil, expr.CtStateBitESTABLISHED|expr.CtStateBitRELATED),
			},
			&expr.Cmp{Op: expr.CmpOpNeq, Register: word(0), Data: make([]byte, 4)},
			&expr.Verdict{Kind: expr.VerdictAccept},
		},
		neighborDiscovery(),
	}
	for _, f := range []Family{IPv4, IPv6} {
		// A pod reaches itself through a Service, and no policy can forbid that.
		own := append(onlyOf(f), addressInto(word(0), f, layouts[f].source), addressInto(word(layouts[f].length/4), f, layouts[f].destination),
			&expr.Lookup{SourceRegister: word(0), SetName: pairName(f)}, &expr.Verdict{Kind: expr.VerdictAccept})
		rules = append(rules, own)
	}
	for _, d := range []Direction{Egress, Ingress} {
		for _, f := range []Family{IPv4, IPv6} {
			offset := map[Direction]uint32{Egress: layouts[f].source, Ingress: layouts[f].destination}[d]
			rules = append(rules, append(onlyOf(f), addressInto(word(0), f, offset),
				&expr.Lookup{SourceRegister: word(0), SetName: jumpName(d, f), DestRegister: unix.NFT_REG_VERDICT, IsDestRegSet: true}))
		}
	}
	return rules
}

// neighborDiscovery accepts solicitations and advertisements (RFC 4861, types 135 and 136), which are to IPv6 what ARP is to IPv4: without
// them no pod of the node finds another one, whatever the policies allow.
func neighborDiscovery() []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: word(0)},
		&expr.Cmp{Op: expr.CmpOpEq, Register: word(0), Data: []byte{unix.IPPROTO_ICMPV6}},
		&expr.Payload{DestRegister: word(0), Base: expr.PayloadBaseTransportHeader, Offset: 0, Len: 1},
		&expr.Cmp{Op: expr.CmpOpGte, Register: word(0), Data: []byte{135}},
		&expr.Cmp{Op: expr.CmpOpLte, Register: word(0), Data: []byte{136}},
		&expr.Verdict{Kind: expr.VerdictAccept},
	}
}

// exprs are the instructions of a rule in a chain of that direction.
func (r Rule) exprs(d Direction) []expr.Any {
	var out []expr.Any
	l := layouts[r.Family]
	if r.Family != AnyFamily {
		out = onlyOf(r.Family)
	}
	if r.Addresses != "" {
		peer := map[Direction]uint32{Ingress: l.source, Egress: l.destination}[d]
		out = append(out, addressInto(word(0), r.Family, peer), &expr.Lookup{SourceRegister: word(0), SetName: r.Addresses})
	}
	if r.Ports != "" {
		out = append(out, portInto(0)...)
		out = append(out, &expr.Lookup{SourceRegister: word(0), SetName: r.Ports})
	}
	if r.Endpoints != "" {
		out = append(out, addressInto(word(0), r.Family, l.destination))
		out = append(out, portInto(l.length/4)...)
		out = append(out, &expr.Lookup{SourceRegister: word(0), SetName: r.Endpoints})
	}
	return append(out, &expr.Verdict{Kind: expr.VerdictReturn})
}

func onlyOf(f Family) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: word(0)},
		&expr.Cmp{Op: expr.CmpOpEq, Register: word(0), Data: []byte{layouts[f].protocol}},
	}
}

func addressInto(register uint32, f Family, offset uint32) expr.Any {
	return &expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: layouts[f].length}
}

// portInto puts the protocol into a word and the destination port into the next. Protocols without ports are in no set.
func portInto(n uint32) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: word(n)},
		&expr.Payload{DestRegister: word(n + 1), Base: expr.PayloadBaseTransportHeader, Offset: destinationPortOffset, Len: portLength},
	}
}

func setOf(table *nftables.Table, name string, s Set) *nftables.Set {
	out := &nftables.Set{Table: table, Name: name}
	switch {
	case s.Addresses != nil:
		out.KeyType, out.Interval = layouts[s.Family].address, true
	case s.Ports != nil:
		out.KeyType = nftables.MustConcatSetType(nftables.TypeInetProto, nftables.TypeInetService)
		out.Interval, out.Concatenation = true, true
	default:
		out.KeyType = nftables.MustConcatSetType(layouts[s.Family].address, nftables.TypeInetProto, nftables.TypeInetService)
		out.Concatenation = true
	}
	return out
}

// elementsOf has two elements for a range of addresses, as the kernel keeps them: where it begins, and where what is not in it does.
func elementsOf(s Set) []nftables.SetElement {
	var out []nftables.SetElement
	for _, r := range s.Addresses {
		out = append(out, nftables.SetElement{Key: r.From().AsSlice()})
		if next := r.To().Next(); next.IsValid() {
			out = append(out, nftables.SetElement{Key: next.AsSlice(), IntervalEnd: true})
		}
	}
	for _, p := range s.Ports {
		out = append(out, nftables.SetElement{Key: portKey(p.Protocol, p.First), KeyEnd: portKey(p.Protocol, p.Last)})
	}
	for _, e := range s.Endpoints {
		out = append(out, nftables.SetElement{Key: append(e.Address.AsSlice(), portKey(e.Protocol, e.Port)...)})
	}
	return out
}

// portKey is a protocol and a port, each filled up to a word.
func portKey(protocol uint8, port uint16) []byte {
	return []byte{protocol, 0, 0, 0, byte(port >> 8), byte(port), 0, 0}
}

func pairSet(table *nftables.Table, f Family) *nftables.Set {
	return &nftables.Set{Table: table, Name: pairName(f), Concatenation: true, KeyType: nftables.MustConcatSetType(layouts[f].address, layouts[f].address)}
}

func pairs(addresses []netip.Addr) []nftables.SetElement {
	var out []nftables.SetElement
	for _, a := range addresses {
		out = append(out, nftables.SetElement{Key: slices.Concat(a.AsSlice(), a.AsSlice())})
	}
	return out
}

func jumpMap(table *nftables.Table, d Direction, f Family) *nftables.Set {
	return &nftables.Set{Table: table, Name: jumpName(d, f), IsMap: true, KeyType: layouts[f].address, DataType: nftables.TypeVerdict}
}

func jumps(isolated map[netip.Addr]string, f Family) []nftables.SetElement {
	var out []nftables.SetElement
	for a, chain := range isolated {
		if familyOf(a) == f {
			out = append(out, nftables.SetElement{Key: a.AsSlice(), VerdictData: &expr.Verdict{Kind: expr.VerdictJump, Chain: chain}})
		}
	}
	return out
}
