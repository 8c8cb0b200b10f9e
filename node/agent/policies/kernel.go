package policies

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
)

// tablePrefix is that of the names of our tables. Each ruleset is a table of its own; what is in it is never changed.
const tablePrefix = "kqueen-network-policies-"

const (
	// socketBuffer holds a batch, and the kernel's answers to each of its messages, in bytes. The defaults are too small for
	// large clusters. It is a limit, and no memory is reserved by it.
	socketBuffer = 64 << 20
	// elementsPerMessage keeps the list of a message below the 64 KiB that the length of a netlink attribute can say.
	elementsPerMessage = 400
)

// Kernel is the packet filter of a network namespace.
type Kernel struct {
	// Namespace is a file descriptor of the network namespace; 0 is the process's own.
	Namespace int
}

// Replace puts a ruleset in the place of the one before. There is no moment in which neither holds: the new table comes in one
// transaction, and those before go in a later one. To change a table in place would not do. The kernel reads which generation holds once
// for a chain, and again for each lookup in a set, so a packet at that instant can find the rules of one with the sets of the other, and
// the connection that it opens would stay.
func (k Kernel) Replace(r Ruleset) error {
	conn, err := k.open()
	if err != nil {
		return err
	}
	old, err := ours(conn)
	if err != nil {
		return err
	}
	table := &nftables.Table{Name: unused(old), Family: nftables.TableFamilyINet}
	if err := add(conn, table, r); err != nil {
		return fmt.Errorf("write the rules: %w", err)
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("put the rules into the packet filter: %w", err)
	}
	return drop(conn, old)
}

// Remove deletes all rules, also those that a process before left.
func (k Kernel) Remove() error {
	conn, err := k.open()
	if err != nil {
		return err
	}
	old, err := ours(conn)
	if err != nil {
		return err
	}
	return drop(conn, old)
}

func (k Kernel) open() (*nftables.Conn, error) {
	options := []nftables.ConnOption{nftables.WithSockOptions(func(c *netlink.Conn) error {
		return errors.Join(c.SetReadBuffer(socketBuffer), c.SetWriteBuffer(socketBuffer))
	})}
	if k.Namespace != 0 {
		options = append(options, nftables.WithNetNSFd(k.Namespace))
	}
	conn, err := nftables.New(options...)
	if err != nil {
		return nil, fmt.Errorf("reach the packet filter: %w", err)
	}
	return conn, nil
}

// ours are more than one where a process was killed between the two transactions.
func ours(conn *nftables.Conn) ([]*nftables.Table, error) {
	all, err := conn.ListTablesOfFamily(nftables.TableFamilyINet)
	if err != nil {
		return nil, fmt.Errorf("list the tables of the packet filter: %w", err)
	}
	return slices.DeleteFunc(all, func(t *nftables.Table) bool { return !strings.HasPrefix(t.Name, tablePrefix) }), nil
}

func unused(old []*nftables.Table) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%d", tablePrefix, i)
		if !slices.ContainsFunc(old, func(t *nftables.Table) bool { return t.Name == name }) {
			return name
		}
	}
}

func drop(conn *nftables.Conn, tables []*nftables.Table) error {
	for _, t := range tables {
		conn.DelTable(t)
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("delete the rules before from the packet filter: %w", err)
	}
	return nil
}

// add buffers what creates a table. The order is that of the kernel's references: rules name sets and maps, and maps name chains.
func add(conn *nftables.Conn, table *nftables.Table, r Ruleset) error {
	conn.AddTable(table)
	base := conn.AddChain(&nftables.Chain{
		Name: "forward", Table: table, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter,
	})
	chains := map[string]*nftables.Chain{}
	for name := range r.Chains {
		chains[name] = conn.AddChain(&nftables.Chain{Name: name, Table: table})
	}
	for name, set := range r.Sets {
		if err := addSet(conn, setOf(table, name, set), elementsOf(set)); err != nil {
			return err
		}
	}
	for _, family := range []Family{IPv4, IPv6} {
		if err := addSet(conn, pairSet(table, family), pairs(of(r.Own(), family))); err != nil {
			return err
		}
		for d, isolated := range r.Isolated {
			if err := addSet(conn, jumpMap(table, d, family), jumps(isolated, family)); err != nil {
				return err
			}
		}
	}
	for _, rule := range baseRules() {
		conn.AddRule(&nftables.Rule{Table: table, Chain: base, Exprs: rule})
	}
	for name, chain := range r.Chains {
		for _, rule := range chain.Rules {
			conn.AddRule(&nftables.Rule{Table: table, Chain: chains[name], Exprs: rule.exprs(chain.Direction)})
		}
		conn.AddRule(&nftables.Rule{Table: table, Chain: chains[name], Exprs: []expr.Any{&expr.Verdict{Kind: expr.VerdictDrop}}})
	}
	return nil
}

func addSet(conn *nftables.Conn, set *nftables.Set, elements []nftables.SetElement) error {
	set.KeyByteOrder = binaryutil.BigEndian
	if err := conn.AddSet(set, nil); err != nil {
		return fmt.Errorf("set %s: %w", set.Name, err)
	}
	for some := range slices.Chunk(elements, elementsPerMessage) {
		if err := conn.SetAddElements(set, some); err != nil {
			return fmt.Errorf("elements of set %s: %w", set.Name, err)
		}
	}
	return nil
}

// of returns the addresses of a family.
func of(addresses []netip.Addr, family Family) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool { return familyOf(a) != family })
}
