package main

import (
	"net"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// table is the table of the packet filter that holds the rule. Only this program writes to it.
const table = "kqueen-flannel"

// masquerade lets packets that this machine's pods send to anybody but pods leave under the machine's address, which
// is the one that the world can answer. Between pods, addresses stay as they are.
func masquerade(own, all netip.Prefix) error {
	c, err := nftables.New()
	if err != nil {
		return err
	}
	// In one transaction: the table appears, empty if it was there, is deleted and made anew.
	t := &nftables.Table{Name: table, Family: nftables.TableFamilyIPv4}
	c.AddTable(t)
	c.DelTable(t)
	c.AddTable(t)
	chain := c.AddChain(&nftables.Chain{
		Name: "postrouting", Table: t, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource,
	})
	c.AddRule(&nftables.Rule{Table: t, Chain: chain, Exprs: outward(own, all)})
	return c.Flush()
}

// Where the addresses stand in IPv4's header, in bytes.
const (
	sourceOffset      = 12
	destinationOffset = 16
	addressLength     = 4
)

// outward is the rule "ip saddr OWN ip daddr != ALL ip daddr != 224.0.0.0/4 masquerade".
func outward(own, all netip.Prefix) []expr.Any {
	multicast := netip.PrefixFrom(netip.AddrFrom4([4]byte{224}), 4)
	var rule []expr.Any
	rule = append(rule, address(sourceOffset, expr.CmpOpEq, own)...)
	rule = append(rule, address(destinationOffset, expr.CmpOpNeq, all)...)
	rule = append(rule, address(destinationOffset, expr.CmpOpNeq, multicast)...)
	return append(rule, &expr.Masq{})
}

// address compares an address of the packet with a network.
func address(offset uint32, is expr.CmpOp, network netip.Prefix) []expr.Any {
	const register = 1
	return []expr.Any{
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: addressLength},
		&expr.Bitwise{
			SourceRegister: register, DestRegister: register, Len: addressLength,
			Mask: net.CIDRMask(network.Bits(), 8*addressLength), Xor: make([]byte, addressLength),
		},
		&expr.Cmp{Op: is, Register: register, Data: network.Addr().AsSlice()},
	}
}
