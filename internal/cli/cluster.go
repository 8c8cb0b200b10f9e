package cli

import (
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/v1alpha1"
)

// newControlPlaneCommand returns `controlplane` and what is under it.
func newControlPlaneCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "controlplane",
		Aliases: []string{"controlplanes"},
		Short:   "Show what KQueen runs of the clusters that it hosts",
		Example: "  kqueen controlplane get demo -o yaml",
	}
	asGroup(cmd)
	cmd.AddCommand(newListCommand(e, controlPlaneNoun), newGetCommand(e, controlPlaneNoun))
	return cmd
}

// newClusterCommand returns `cluster` and what is under it.
func newClusterCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		Aliases: []string{"clusters"},
		Short:   "Make, show, change and delete clusters",
		Example: `  kqueen cluster create demo --nodes 2 --wait
  kubectl --kubeconfig <(kqueen cluster kubeconfig demo) get namespaces
  kqueen cluster delete demo`,
	}
	asGroup(cmd)
	update, _ := newUpdateCommand(e, clusterNoun, `kqueen cluster update demo --spec '{"network":{"extraSANs":["demo.example.com"]}}'`)
	cmd.AddCommand(
		newCreateClusterCommand(e),
		newListCommand(e, clusterNoun),
		newGetCommand(e, clusterNoun),
		newDescribeClusterCommand(e),
		update,
		newDeleteClusterCommand(e),
		newKubeconfigCommand(e),
		newCredentialCommand(e),
		newEventsCommand(e),
		newWaitCommand(e, clusterNoun, v1alpha1.ConditionAccepted, v1alpha1.ConditionProvisioned, v1alpha1.ConditionKubeconfigReady),
	)
	return cmd
}
