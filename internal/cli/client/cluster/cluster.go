package cluster

import (
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewControlPlaneCommand returns `controlplane` and what is under it.
func NewControlPlaneCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "controlplane",
		Aliases: []string{"controlplanes"},
		Short:   "Show what KQueen runs of the clusters that it hosts",
		Example: "  kqueen controlplane get demo -o yaml",
	}
	command.Group(cmd)
	cmd.AddCommand(verbs.ListCommand(e, kinds.ControlPlane), verbs.GetCommand(e, kinds.ControlPlane))
	return cmd
}

// NewCommand returns `cluster` and what is under it.
func NewCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		Aliases: []string{"clusters"},
		Short:   "Create, adopt, show, change and delete clusters",
		Example: `  kqueen cluster create demo --nodes 2 --wait
  kqueen cluster connect demo
  kqueen cluster delete demo`,
	}
	command.Group(cmd)
	cmd.AddCommand(
		newCreateClusterCommand(e),
		newImportClusterCommand(e),
		newImportRightsCommand(e),
		verbs.ListCommand(e, kinds.Cluster),
		newSummaryCommand(e),
		verbs.GetCommand(e, kinds.Cluster),
		newDescribeClusterCommand(e),
		newUpdateClusterCommand(e),
		newSleepCommand(e),
		newWakeCommand(e),
		newDeleteClusterCommand(e),
		newConnectCommand(e),
		newKubeconfigCommand(e),
		newCredentialCommand(e),
		newIngressCACommand(e),
		newEventsCommand(e),
		newAuditCommand(e),
		verbs.WaitCommand(e, kinds.Cluster, v1alpha1.ConditionWorkersGone, v1alpha1.ConditionAccepted, v1alpha1.ConditionProvisioned, v1alpha1.ConditionAddonsReady, v1alpha1.ConditionKubeconfigReady),
	)
	return cmd
}
