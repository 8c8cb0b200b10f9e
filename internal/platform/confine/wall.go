package confine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Wall keeps the programs of one user from opening connections but to where they have to: whatever makes them dial, and
// past whatever was to stop it, there is nothing of the host and of others to reach. It is a table of the host's packet
// filter, and stands without KQueen.
type Wall struct{ name string }

// NewWall names a wall; it stands once it was raised.
func NewWall(name string) Wall { return Wall{"kqueen-" + name} }

// Raise puts the wall up, in one step in place of one that stands. The user's programs connect to their own ports on this
// host and to the addresses, by TCP. Who connects to them is none of it.
func (w Wall) Raise(user int, own []int, reach []netip.AddrPort) error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("open the packet filter: %w", err)
	}
	table := w.table()
	c.AddTable(table)
	c.DelTable(table)
	c.AddTable(table)
	// What the kernel itself sends has no user, and is judged by no rule that names one.
	judged := c.AddChain(&nftables.Chain{Name: "judged", Table: table})
	for _, rule := range judgement(own, reach) {
		c.AddRule(&nftables.Rule{Table: table, Chain: judged, Exprs: rule})
	}
	output := c.AddChain(&nftables.Chain{Name: "output", Table: table, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityFilter})
	c.AddRule(&nftables.Rule{Table: table, Chain: output, Exprs: []expr.Any{
		&expr.Meta{Key: expr.MetaKeySKUID, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: binaryutil.NativeEndian.PutUint32(uint32(user))},
		&expr.Verdict{Kind: expr.VerdictJump, Chain: judged.Name},
	}})
	if err := c.Flush(); err != nil {
		return fmt.Errorf("set up the packet filter: %w", err)
	}
	return nil
}

// Stands says whether the wall is there: an operator who flushes the packet filter takes it away.
func (w Wall) Stands() (bool, error) {
	c, err := nftables.New()
	if err != nil {
		return false, fmt.Errorf("open the packet filter: %w", err)
	}
	tables, err := c.ListTablesOfFamily(nftables.TableFamilyINet)
	if err != nil {
		return false, fmt.Errorf("read the packet filter: %w", err)
	}
	return slices.ContainsFunc(tables, func(t *nftables.Table) bool { return t.Name == w.name }), nil
}

// Lower takes the wall away. None is no error, and neither is a host that lets us have none.
func (w Wall) Lower() error {
	c, err := nftables.New()
	if err == nil {
		c.DelTable(w.table())
		err = c.Flush()
	}
	if err != nil && !errors.Is(err, unix.EPROTONOSUPPORT) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("take %s out of the packet filter: %w", w.name, err)
	}
	return nil
}

func (w Wall) table() *nftables.Table {
	return &nftables.Table{Name: w.name, Family: nftables.TableFamilyINet}
}

// register is where expressions hand their value on.
const register = 1

// judgement are the rules for what the user's programs send. A connection begins with a packet that has one flag of two;
// those that were opened by others need no rule of their own. It is pure.
func judgement(own []int, reach []netip.AddrPort) [][]expr.Any {
	accept, tcp := &expr.Verdict{Kind: expr.VerdictAccept}, []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{unix.IPPROTO_TCP}},
	}
	const syn, ack, flags = 0x02, 0x10, 13
	rules := [][]expr.Any{slices.Concat(tcp, []expr.Any{
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: flags, Len: 1},
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 1, Mask: []byte{syn | ack}, Xor: []byte{0}},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: []byte{syn}},
		accept,
	})}
	for _, port := range own {
		lo := make([]byte, unix.IFNAMSIZ)
		copy(lo, "lo") // by which the host reaches all of its own addresses
		rules = append(rules, slices.Concat([]expr.Any{
			&expr.Meta{Key: expr.MetaKeyOIFNAME, Register: register},
			&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: lo},
		}, tcp, portIs(uint16(port)), []expr.Any{accept}))
	}
	for _, to := range reach {
		rules = append(rules, slices.Concat(addressIs(to.Addr().Unmap()), tcp, portIs(to.Port()), []expr.Any{accept}))
	}
	// Refused, and not dropped: who dials is told at once.
	const administratively = 3 // NFT_REJECT_ICMPX_ADMIN_PROHIBITED
	return append(rules, []expr.Any{&expr.Reject{Type: unix.NFT_REJECT_ICMPX_UNREACH, Code: administratively}})
}

func portIs(port uint16) []expr.Any {
	const offset, size = 2, 2 // of the destination port
	return []expr.Any{
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: size},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: binary.BigEndian.AppendUint16(nil, port)},
	}
}

func addressIs(addr netip.Addr) []expr.Any {
	family, offset := byte(unix.NFPROTO_IPV4), uint32(16) // of the destination
	if addr.Is6() {
		family, offset = unix.NFPROTO_IPV6, 24
	}
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{family}},
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: uint32(addr.BitLen() / 8)},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: addr.AsSlice()},
	}
}
