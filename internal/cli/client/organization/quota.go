package organization

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
)

// NewQuotaCommand returns `quota`.
func NewQuotaCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "quota",
		Short:   "Show an organization's quota and its use",
		Example: "  kqueen quota --org blue\n  kqueen quota -o json",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			organization := e.Organization()
			quota, err := d.GetQuota(cmd.Context(), organization)
			if err != nil {
				return fmt.Errorf("get the quota of organization %s: %w", organization, err)
			}
			return e.PrintData(format, quota, quotaRows(quota))
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

// quotaRows returns a table of what there is and what there may be.
func quotaRows(quota *rest.Quota) [][]string {
	row := func(what, used, limit string) []string { return []string{what, used, cmp.Or(limit, "none")} }
	count := func(what string, u rest.Use) []string {
		limit := ""
		if u.Limit != nil {
			limit = strconv.FormatInt(*u.Limit, 10)
		}
		return row(what, strconv.FormatInt(u.Used, 10), limit)
	}
	return [][]string{
		{"RESOURCE", "USED", "LIMIT"}, count("clusters", quota.Clusters), count("nodes", quota.Nodes),
		count("local machines", quota.Machines.Local), count("manual machines", quota.Machines.Manual),
		row("cpu", quota.CPU.Used, quota.CPU.Limit), row("memory", quota.Memory.Used, quota.Memory.Limit), row("store", quota.Store.Used, quota.Store.Limit),
	}
}
