package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
)

// newQuotaCommand returns `quota`.
func newQuotaCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "quota",
		Short:   "Show what an organization may have, and what it has",
		Example: "  kqueen quota --org blue\n  kqueen quota -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			organization := e.organizationThere(d.knownAs)
			quota, err := d.GetQuota(cmd.Context(), organization)
			if err != nil {
				return fmt.Errorf("get the quota of organization %s: %w", organization, err)
			}
			row := func(what string, u rest.Use) []string {
				limit := "none"
				if u.Limit != nil {
					limit = strconv.FormatInt(*u.Limit, 10)
				}
				return []string{what, strconv.FormatInt(u.Used, 10), limit}
			}
			return e.printData(format, quota, [][]string{{"RESOURCE", "USED", "LIMIT"}, row("clusters", quota.Clusters), row("nodes", quota.Nodes)})
		},
	}
	registerOutput(cmd, &format, "table", dataFormats)
	return cmd
}
