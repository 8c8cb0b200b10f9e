package guest

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// masqueradeTable is the table of the machine's own packet filter that holds the rule.
const masqueradeTable = "kqueen"

// masquerade lets what pods send to others than pods leave under the machine's address, which is the one that others
// can answer. Between pods, of whatever machines, addresses stay as they are, as Kubernetes promises.
func masquerade(machine int, pods netip.Prefix) error {
	c, err := nftables.New(nftables.WithNetNSFd(machine))
	if err != nil {
		return err
	}
	table := &nftables.Table{Name: masqueradeTable, Family: nftables.TableFamilyINet}
	c.AddTable(table)
	c.DelTable(table)
	c.AddTable(table)
	chain := c.AddChain(&nftables.Chain{Name: "postrouting", Table: table, Type: nftables.ChainTypeNAT, Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource})
	multicast := netip.PrefixFrom(netip.AddrFrom4([4]byte{224}), 4)
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: join(
		fromSubnet(pods), network(destinationOffset, expr.CmpOpNeq, pods), network(destinationOffset, expr.CmpOpNeq, multicast),
		[]expr.Any{&expr.Masq{}},
	)})
	return c.Flush()
}

// Where the addresses stand in IPv4's header, in bytes.
const (
	sourceOffset      = 12
	destinationOffset = 16
)

// network compares an address in IPv4's header with a network.
func network(offset uint32, is expr.CmpOp, p netip.Prefix) []expr.Any {
	const size = 4
	mask := make([]byte, size)
	binary.BigEndian.PutUint32(mask, ^uint32(0)<<(32-p.Bits()))
	return []expr.Any{
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: size},
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: size, Mask: mask, Xor: make([]byte, size)},
		&expr.Cmp{Op: is, Register: register, Data: p.Masked().Addr().AsSlice()},
	}
}
