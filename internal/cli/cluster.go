package cli

import (
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/v1alpha1"
)

// newClusterCommand returns `cluster` and what is under it.
func newClusterCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		Aliases: []string{"clusters"},
		Short:   "Make, show and delete clusters",
		Example: `  kqueen cluster create demo --nodes 2 --wait
  kubectl --kubeconfig <(kqueen cluster kubeconfig demo) get namespaces
  kqueen cluster delete demo`,
	}
	asGroup(cmd)
	cmd.AddCommand(
		newCreateClusterCommand(e),
		newListCommand(e, clusterNoun),
		newGetCommand(e, clusterNoun),
		newDescribeClusterCommand(e),
		newDeleteClusterCommand(e),
		newKubeconfigCommand(e),
		newCredentialCommand(e),
		newEventsCommand(e),
		newWaitCommand(e, clusterNoun, v1alpha1.ConditionAccepted, v1alpha1.ConditionProvisioned, v1alpha1.ConditionKubeconfigReady),
	)
	return cmd
}
