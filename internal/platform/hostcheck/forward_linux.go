package hostcheck

import (
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// readForwarding looks at the packet filter; nil where that cannot be read.
func readForwarding() *Forwarding {
	conn, err := nftables.New()
	if err != nil {
		return nil
	}
	chains, err := conn.ListChains()
	if err != nil {
		return nil
	}
	for _, c := range chains {
		if !dropsForwarded(c) {
			continue
		}
		excepted := false
		for _, of := range chains {
			if of.Table.Name != c.Table.Name || of.Table.Family != c.Table.Family {
				continue
			}
			rules, err := conn.GetRules(of.Table, of)
			if err != nil {
				return nil
			}
			excepted = excepted || slices.ContainsFunc(rules, namesBridge)
		}
		if !excepted {
			return &Forwarding{Drops: c.Table.Name}
		}
	}
	return &Forwarding{}
}

// dropsForwarded says whether a chain drops forwarded IPv4 packets of which no rule of its own says otherwise. KQueen's own are about
// its own bridges. It is pure.
func dropsForwarded(c *nftables.Chain) bool {
	if c.Table.Family != nftables.TableFamilyIPv4 && c.Table.Family != nftables.TableFamilyINet || strings.HasPrefix(c.Table.Name, "kq") {
		return false
	}
	return c.Type == nftables.ChainTypeFilter && c.Hooknum != nil && *c.Hooknum == *nftables.ChainHookForward && c.Policy != nil && *c.Policy == nftables.ChainPolicyDrop
}

// namesBridge says whether a rule compares something with the name of a bridge of machines, or with how these begin. It is pure.
func namesBridge(r *nftables.Rule) bool {
	return slices.ContainsFunc(r.Exprs, func(e expr.Any) bool {
		compare, ok := e.(*expr.Cmp)
		return ok && strings.HasPrefix(string(compare.Data), BridgePrefix)
	})
}
