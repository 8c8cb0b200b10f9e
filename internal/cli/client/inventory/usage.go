package inventory

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
)

func newUsageCommand(e *connection.Env) *cobra.Command {
	o := &one{env: e}
	cmd := &cobra.Command{
		Use:     "usage",
		Aliases: []string{"top", "capacity"},
		Short:   "Show requests, limits and use of the nodes of a cluster, as they are now",
		Long: `Show what pods request of each node of a cluster, their limits and, where
metrics-server runs, what is used: in thousandths of a processor and in Mi of memory,
and in percent of what the node has for pods. The cluster is asked for it, which takes
up to 20 s.

Requests and limits are those that the scheduler counts, of pods that have not ended:
containers and sidecars together, or the largest init container where that is more,
and the overhead of the pod. -o wide has what nodes have, and when it was measured.`,
		Example: `  kqueen inventory usage --cluster shop
  kqueen inventory usage --cluster shop -o wide
  kqueen inventory usage --cluster shop -o json | jq '.nodes[] | {node, free: (.allocatable.milliCPU - .requests.milliCPU)}'`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := o.connect(cmd)
			if err != nil {
				return err
			}
			u, err := d.GetClusterUsage(cmd.Context(), e.Organization(), o.cluster)
			if err != nil {
				return fmt.Errorf("read the use of cluster %s: %w", o.cluster, err)
			}
			return o.showUsage(u)
		},
	}
	o.register(cmd, []string{"table", "wide", "json", "yaml"})
	return cmd
}

func (o *one) showUsage(u *rest.ClusterUsage) error {
	format, rows := o.format, usageRows(u, o.format == "wide")
	if format == "wide" {
		format = "table"
	}
	if err := o.env.PrintData(format, u, rows); err != nil {
		return err
	}
	if len(u.Nodes) == 0 {
		o.env.Say("the cluster has no nodes")
	}
	if u.Unmeasured != "" {
		o.env.Say("what is used is not known: %s", u.Unmeasured)
	}
	o.sayGaps(u.ClusterNow)
	return nil
}

// usageRows are the nodes, all together, and pods that are on none of them. It is pure.
func usageRows(u *rest.ClusterUsage, wide bool) [][]string {
	header := []string{"NODE", "PODS", "CPU REQUESTS", "CPU LIMITS", "CPU USED", "MEMORY REQUESTS", "MEMORY LIMITS", "MEMORY USED"}
	if wide {
		header = append(header, "CPU", "MEMORY", "ALLOCATABLE CPU", "ALLOCATABLE MEMORY", "MEASURED")
	}
	rows := [][]string{header}
	for i := range u.Nodes {
		rows = append(rows, usageRow(&u.Nodes[i], wide))
	}
	if len(u.Nodes) > 1 {
		all := rest.NodeUsage{Node: "(all)", UsageSum: u.Total.UsageSum, Capacity: u.Total.Capacity, Allocatable: u.Total.Allocatable}
		if u.Total.Used != nil {
			all.Used = &rest.UsageMeasured{UsageAmounts: *u.Total.Used}
		}
		rows = append(rows, usageRow(&all, wide))
	}
	for _, others := range []struct {
		name string
		sum  rest.UsageSum
	}{{"(not scheduled)", u.Unscheduled}, {"(on other nodes)", u.Elsewhere}} {
		if others.sum.Pods > 0 {
			rows = append(rows, usageRow(&rest.NodeUsage{Node: others.name, UsageSum: others.sum}, wide))
		}
	}
	return rows
}

func usageRow(n *rest.NodeUsage, wide bool) []string {
	cpu := func(amount int64) string {
		return strconv.FormatInt(amount, 10) + "m" + share(amount, n.Allocatable.MilliCPU)
	}
	memory := func(amount int64) string {
		return strconv.FormatInt(amount>>20, 10) + "Mi" + share(amount, n.Allocatable.Memory)
	}
	usedCPU, usedMemory, measured := "", "", ""
	if n.Used != nil {
		usedCPU, usedMemory = cpu(n.Used.MilliCPU), memory(n.Used.Memory)
		if !n.Used.MeasuredAt.IsZero() {
			measured = console.When(n.Used.MeasuredAt)
		}
	}
	pods := strconv.Itoa(n.Pods)
	if n.Allocatable.Pods > 0 {
		pods += "/" + strconv.FormatInt(n.Allocatable.Pods, 10)
	}
	row := []string{
		n.Node, pods, cpu(n.Requests.MilliCPU), cpu(n.Limits.MilliCPU), usedCPU, memory(n.Requests.Memory), memory(n.Limits.Memory), usedMemory,
	}
	if !wide {
		return row
	}
	has := func(a rest.InventoryAmounts) []string {
		if a == (rest.InventoryAmounts{}) {
			return []string{"", ""}
		}
		return []string{strconv.FormatInt(a.MilliCPU, 10) + "m", strconv.FormatInt(a.Memory>>20, 10) + "Mi"}
	}
	row = append(row, has(n.Capacity)...)
	row = append(row, has(n.Allocatable)...)
	return append(row, measured)
}

// share is an amount in percent of what there is; empty where there is nothing.
func share(amount, of int64) string {
	if of <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%.0f%%)", math.Floor(float64(amount)/float64(of)*100))
}
