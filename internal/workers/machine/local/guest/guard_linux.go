package guest

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// guard makes the table of a cluster's bridge in the host's packet filter. None but the host itself opens
// connections to machines of the cluster; they open none to the host but to the ports named and none to other
// clusters; and where the host forwards, they reach the world under the host's address.
func guard(host int, w Network) error {
	c, err := nftables.New(nftables.WithNetNSFd(host))
	if err != nil {
		return err
	}
	// In one transaction: the table appears, empty if it was there, is deleted and made anew.
	table := &nftables.Table{Name: w.Bridge, Family: nftables.TableFamilyINet}
	c.AddTable(table)
	c.DelTable(table)
	c.AddTable(table)

	input := c.AddChain(&nftables.Chain{Name: "input", Table: table, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter})
	for _, rule := range inputRules(w) {
		c.AddRule(&nftables.Rule{Table: table, Chain: input, Exprs: rule})
	}
	forwarding := c.AddChain(&nftables.Chain{Name: "forward", Table: table, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter})
	for _, rule := range forwardRules(w) {
		c.AddRule(&nftables.Rule{Table: table, Chain: forwarding, Exprs: rule})
	}
	out := c.AddChain(&nftables.Chain{Name: "postrouting", Table: table, Type: nftables.ChainTypeNAT, Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource})
	c.AddRule(&nftables.Rule{Table: table, Chain: out, Exprs: join(fromSubnet(w.Gateway.Masked()), interfaceIs(expr.MetaKeyOIFNAME, expr.CmpOpNeq, w.Bridge), []expr.Any{&expr.Masq{}})})
	return c.Flush()
}

func inputRules(w Network) [][]expr.Any {
	from := interfaceIs(expr.MetaKeyIIFNAME, expr.CmpOpEq, w.Bridge)
	rules := [][]expr.Any{
		join(from, established(), verdict(expr.VerdictAccept)),
		join(from, protocolIs(unix.IPPROTO_ICMP), verdict(expr.VerdictAccept)),
		join(from, protocolIs(unix.IPPROTO_ICMPV6), verdict(expr.VerdictAccept)),
	}
	for _, p := range w.HostPorts {
		rules = append(rules, join(from, protocolIs(unix.IPPROTO_TCP), portIn(p), verdict(expr.VerdictAccept)))
	}
	return append(rules, join(from, verdict(expr.VerdictDrop)))
}

func forwardRules(w Network) [][]expr.Any {
	from, to := interfaceIs(expr.MetaKeyIIFNAME, expr.CmpOpEq, w.Bridge), interfaceIs(expr.MetaKeyOIFNAME, expr.CmpOpEq, w.Bridge)
	return [][]expr.Any{
		join(from, to, verdict(expr.VerdictAccept)), // where the host filters what stays on one bridge
		join(to, established(), verdict(expr.VerdictAccept)),
		join(to, verdict(expr.VerdictDrop)),
	}
}

// unguard removes the table of a bridge. None is no error.
func unguard(bridge string) error {
	c, err := nftables.New()
	if err != nil {
		return err
	}
	c.DelTable(&nftables.Table{Name: bridge, Family: nftables.TableFamilyINet})
	if err := c.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// The register in which expressions hand their value on.
const register = 1

func join(parts ...[]expr.Any) []expr.Any {
	var all []expr.Any
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func verdict(kind expr.VerdictKind) []expr.Any { return []expr.Any{&expr.Verdict{Kind: kind}} }

func interfaceIs(key expr.MetaKey, op expr.CmpOp, name string) []expr.Any {
	data := make([]byte, unix.IFNAMSIZ)
	copy(data, name)
	return []expr.Any{&expr.Meta{Key: key, Register: register}, &expr.Cmp{Op: op, Register: register, Data: data}}
}

func protocolIs(protocol byte) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register}, &expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{protocol}}}
}

// portIn is about the destination port of TCP: bytes 2 and 3 of its header.
func portIn(r PortRange) []expr.Any {
	const offset, size = 2, 2
	return []expr.Any{
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: size},
		&expr.Range{Op: expr.CmpOpEq, Register: register, FromData: binaryutil.BigEndian.PutUint16(r.First), ToData: binaryutil.BigEndian.PutUint16(r.Last)},
	}
}

func established() []expr.Any {
	mask := make([]byte, 4)
	binary.NativeEndian.PutUint32(mask, expr.CtStateBitESTABLISHED|expr.CtStateBitRELATED)
	return []expr.Any{
		&expr.Ct{Key: expr.CtKeySTATE, Register: register},
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 4, Mask: mask, Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: make([]byte, 4)},
	}
}

// fromSubnet is about the source address. Machines have IPv4 addresses only.
func fromSubnet(p netip.Prefix) []expr.Any {
	return join([]expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{unix.NFPROTO_IPV4}},
	}, network(sourceOffset, expr.CmpOpEq, p))
}
