package cli

import "github.com/spf13/cobra"

// newClusterCommand returns `cluster` and what is under it.
func newClusterCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		Aliases: []string{"clusters"},
		Short:   "Make, show and delete clusters",
		Example: `  kqueen cluster create demo --wait
  kubectl --kubeconfig <(kqueen cluster kubeconfig demo) get namespaces
  kqueen cluster delete demo`,
	}
	asGroup(cmd)
	cmd.AddCommand(
		newCreateCommand(e),
		newListCommand(e, clusterNoun),
		newGetCommand(e, clusterNoun),
		newDescribeClusterCommand(e),
		newDeleteCommand(e),
		newKubeconfigCommand(e),
		newEventsCommand(e),
		newWaitCommand(e),
	)
	return cmd
}
