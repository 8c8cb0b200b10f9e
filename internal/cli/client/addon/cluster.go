package addon

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// NewClusterCommand returns `cluster addon` and what is under it.
func NewClusterCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "addon",
		Aliases: []string{"addons"},
		Short:   "Show and switch the addons of a cluster",
		Long: `Show and switch the addons of a cluster: applications that KQueen runs in it once it
has a nodepool. What the cluster does not set is as its organization says, then its
provisioner, then the default that "kqueen addon list" shows.`,
		Example: `  kqueen cluster addon list demo
  kqueen cluster addon enable demo coredns --set replicas=3
  kqueen cluster addon disable demo metrics-server`,
	}
	command.Group(cmd)
	cmd.AddCommand(newClusterListCommand(e), newEnableCommand(e), newDisableCommand(e), newResetCommand(e))
	return cmd
}

func newClusterListCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list CLUSTER",
		Aliases: []string{"ls"},
		Short:   "List the addons of a cluster, who set each, and how it is",
		Long: `List the addons of a cluster. FROM is who says whether the cluster has it: the
cluster itself, its organization, its provisioner, the catalogue where none of them
does, or the pod network of the cluster (cni).`,
		Example:           "  kqueen cluster addon list demo\n  kqueen cluster addon list demo -o json",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			page, err := d.ListClusterAddons(cmd.Context(), e.Organization(), args[0])
			if err != nil {
				return fmt.Errorf("list the addons of cluster %s: %w", args[0], err)
			}
			rows := [][]string{{"NAME", "ADDON", "FROM", "VALUES", "VERSION", "STATE", "MESSAGE"}}
			for _, a := range page.Items {
				rows = append(rows, []string{a.Name, onOff(a.Enabled), a.From, pairs(a.Values), a.Version, a.State, a.Message})
			}
			return e.PrintNamed(format, "addon", page.Items, rows)
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.NamedFormats)
	return cmd
}

// pairs are values as they are written behind --set.
func pairs(values map[string]any) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		all = append(all, key+"="+inWords(values[key]))
	}
	return strings.Join(all, ",")
}

// clusterAndAddon wants the names of both.
func clusterAndAddon(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) < 2:
		return exit.UsageError(cmd, "%s needs a CLUSTER and an ADDON", cmd.CommandPath())
	case len(args) > 2:
		return exit.UsageError(cmd, "%s takes one CLUSTER and one ADDON, but there is also %q", cmd.CommandPath(), args[2])
	case slices.Contains(args, ""):
		return exit.UsageError(cmd, "a name is empty")
	}
	return nil
}

// completeBoth completes the name of a cluster, and then that of an addon.
func completeBoth(e *connection.Env) cobra.CompletionFunc {
	clusters, addons := kinds.CompleteNames(e, kinds.Cluster, 1), completeAddons(e, 1)
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return clusters(cmd, args, begun)
		}
		return addons(cmd, args, begun)
	}
}
