package cluster

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// newSummaryCommand returns `cluster summary`.
func newSummaryCommand(e *connection.Env) *cobra.Command {
	var (
		format     string
		everywhere bool
		query      client.ObjectQuery
	)
	cmd := &cobra.Command{
		Use:   "summary",
		Short: "Count clusters by readiness, version, provisioner and organization",
		Long: `Count clusters by readiness, version, provisioner and organization: up to 100
values of each, and how many clusters have others. A version is the one that runs, or
the one that was asked for while none does. What is known is counted; no cluster is
asked.`,
		Example: `  kqueen cluster summary
  kqueen cluster summary -A --provisioner hosted
  kqueen cluster summary -A -o json | jq -r '.byVersion.items[] | "\(.count) \(.value)"'`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			organization := e.Organization()
			if everywhere {
				organization = ""
			}
			summary, err := d.SummarizeClusters(cmd.Context(), organization, query)
			if err != nil {
				return fmt.Errorf("count clusters: %w", err)
			}
			return e.PrintData(format, summary, summaryRows(summary))
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&everywhere, "all-organizations", "A", false, "count across all organizations")
	flags.StringVarP(&query.LabelSelector, "selector", "l", "", "label selector, such as team=blue,stage!=test")
	flags.StringVar(&query.Provisioner, "provisioner", "", "only those of this provisioner")
	flags.StringVar(&query.Version, "version", "", "only those that run this version of Kubernetes, such as v1.36.3")
	_ = cmd.RegisterFlagCompletionFunc("provisioner", kinds.CompleteNames(e, kinds.Provisioner, -1))
	_ = cmd.RegisterFlagCompletionFunc("version", kinds.CompleteNames(e, kinds.Release, -1))
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

// summaryRows returns a table of what is counted.
func summaryRows(s *rest.ClusterSummary) [][]string {
	rows := [][]string{{"BY", "VALUE", "CLUSTERS"}, {"all", "", strconv.Itoa(s.Total)}}
	if s.Deleting > 0 {
		rows = append(rows, []string{"deleting", "", strconv.Itoa(s.Deleting)})
	}
	for _, by := range []struct {
		what   string
		counts rest.Counts
	}{{"readiness", s.ByReadiness}, {"version", s.ByVersion}, {"provisioner", s.ByProvisioner}, {"organization", s.ByOrganization}} {
		for _, c := range by.counts.Items {
			rows = append(rows, []string{by.what, c.Value, strconv.Itoa(c.Count)})
		}
		if by.counts.More > 0 {
			rows = append(rows, []string{by.what, "(others)", strconv.Itoa(by.counts.More)})
		}
	}
	return rows
}
