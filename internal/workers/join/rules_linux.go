package join

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/google/nftables"

	"kqueen.io/kqueen/internal/workers/node"
)

// rules has kube-proxy, which knows them, remove its rules.
func (l *Leaving) rules(ctx context.Context) error {
	programs, err := FindPrograms(l.Record.Releases, l.Record.Cluster.Version, l.Record.Parts)
	if err != nil {
		return fmt.Errorf("find kube-proxy, which knows its rules: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	var said strings.Builder
	cmd := exec.CommandContext(ctx, programs.Binaries.Path("kube-proxy"), "--cleanup")
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("have kube-proxy remove its rules: %w: %.500s", err, said.String())
	}
	return l.Record.Before.removeTables()
}

// clusterTables are those that programs of a node make in the packet filter: kube-proxy, and the plugin bridge.
func clusterTables() []string { return []string{"kube-proxy", "cni_plugins_masquerade"} }

// removeTables removes the tables that programs of a node have made and those in which no rule is left, such as
// the ones that iptables makes to look into, unless they were there before.
func (b Before) removeTables() error {
	all, err := tables()
	if err != nil {
		return err
	}
	filter, err := nftables.New()
	if err != nil {
		return fmt.Errorf("speak to the packet filter: %w", err)
	}
	for _, t := range all {
		if slices.Contains(b.Tables, tableName(t)) {
			continue
		}
		goes := slices.Contains(clusterTables(), t.Name)
		if !goes {
			if goes, err = empty(filter, t); err != nil {
				return err
			}
		}
		if goes {
			filter.DelTable(t)
		}
	}
	if err := filter.Flush(); err != nil {
		return fmt.Errorf("remove tables of the packet filter: %w", err)
	}
	return nil
}

// empty says whether a table has no rule.
func empty(filter *nftables.Conn, t *nftables.Table) (bool, error) {
	chains, err := filter.ListChainsOfTableFamily(t.Family)
	if err != nil {
		return false, fmt.Errorf("list chains of the packet filter: %w", err)
	}
	for _, c := range chains {
		if c.Table.Name != t.Name {
			continue
		}
		rules, err := filter.GetRules(t, c)
		if err != nil {
			return false, fmt.Errorf("list rules of the packet filter: %w", err)
		}
		if len(rules) > 0 {
			return false, nil
		}
	}
	return true, nil
}

// tables are those of the packet filter; none where nothing speaks to it in this way.
func tables() ([]*nftables.Table, error) {
	if node.ProxyMode() != "nftables" {
		return nil, nil
	}
	filter, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("speak to the packet filter: %w", err)
	}
	all, err := filter.ListTables()
	if err != nil {
		return nil, fmt.Errorf("list tables of the packet filter: %w", err)
	}
	return all, nil
}

func tableNames() ([]string, error) {
	all, err := tables()
	names := make([]string, 0, len(all))
	for _, t := range all {
		names = append(names, tableName(t))
	}
	return names, err
}

// tableName is unique: each family has tables of its own.
func tableName(t *nftables.Table) string { return fmt.Sprintf("%d/%s", t.Family, t.Name) }
