package nodes

import (
	"context"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewNodeCommand returns `node` and what is under it.
func NewNodeCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "node",
		Aliases: []string{"nodes"},
		Short:   "Show, drain and replace single nodes, and join machines",
		Long: `Show, drain and replace single nodes, and join the machine on which this runs.

A node is shown here as KQueen's Machine, which has the node's name. See "kubectl
get nodes" in its cluster for what the node itself reports.`,
		Example: `  kqueen node list --cluster demo
  kqueen node drain demo-x7k2f
  kqueen node replace demo-x7k2f --wait`,
	}
	command.Group(cmd)
	update, _ := verbs.UpdateCommand(e, kinds.Machine, "kqueen node update demo-x7k2f --annotation example.com/rack=7")
	cmd.AddCommand(
		verbs.ListCommand(e, kinds.Machine),
		verbs.GetCommand(e, kinds.Machine),
		newDescribeNodeCommand(e),
		newDrainCommand(e),
		newUncordonCommand(e),
		newReplaceCommand(e),
		update,
		verbs.WaitCommand(e, kinds.Machine, v1alpha1.ConditionBootstrapped, v1alpha1.ConditionMachineReady, v1alpha1.ConditionDrained, v1alpha1.ConditionNodeReady),
		newJoinCommand(e),
	)
	return cmd
}

// newDescribeNodeCommand returns `node describe`.
func newDescribeNodeCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show details of a node",
		Example:           "  kqueen node describe demo-x7k2f",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Machine, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return describeNode(cmd.Context(), e, args[0])
		},
	}
}

func describeNode(ctx context.Context, e *connection.Env, name string) error {
	c, err := e.Connect()
	if err != nil {
		return err
	}
	machine, err := findMachine(ctx, e, c, name)
	if err != nil {
		return err
	}
	p := &describe.Page{}
	spec, status := machine.Spec, machine.Status
	spec.Drain.Default() // a server of another version may leave out what this one knows
	p.Fields("",
		"Name", machine.Name,
		"Organization", e.Organization(),
		"Cluster", spec.ClusterName,
		"Nodepool", machine.Labels[v1alpha1.LabelNodePool],
		"Age", kinds.Age(machine.CreationTimestamp.Time),
		"Deleting", describe.Deleting(machine),
		"Removed first", machine.Annotations[v1alpha1.AnnotationDeleteFirst],
		"Version", describe.VersionOnTheWay(status.Version, spec.Version),
		"Provider", spec.Provider,
		"Resources", resourcesInWords(spec.Resources),
		"Volume capacity", quantityInWords(spec.VolumeCapacity),
		"Provider ID", status.ProviderID,
		"Address", status.Address,
		"Isolation", isolationInWords(status),
		"Pods", status.PodCIDR,
		"Joined", describe.Ago(status.JoinTime),
		"Draining", describe.Since(status.DrainStartTime),
		"Cordoned", cordoned(e, machine),
		"Drain timeout", patience(spec.Drain.Timeout()),
		"Labels", describe.Pairs(spec.Labels),
		"Taints", taintsInWords(spec.Taints),
		"Next retry", describe.In(status.NextRetryTime),
	)
	describe.Parameters(p, spec.Parameters)
	describe.Conditions(p, status.Status)
	if err := describe.Events(ctx, e, c, p, kinds.EventsOf(e, name, kinds.Machine.Kind)); err != nil {
		return err
	}
	return p.Print(e.Stdout)
}

// cordoned says that a node takes no new pods, and what ends that; empty for a node that does.
func cordoned(e *connection.Env, m *v1alpha1.Machine) string {
	if !m.Status.Unschedulable {
		return ""
	}
	return "yes: it takes no new pods until: " + e.Command("node uncordon "+m.Name)
}

// isolationInWords is how far a machine is kept apart from its host, and why not further.
func isolationInWords(status v1alpha1.MachineStatus) string {
	if status.IsolationMessage == "" {
		return string(status.Isolation)
	}
	return string(status.Isolation) + ": " + status.IsolationMessage
}

// findMachine returns the organization's machine of that name.
func findMachine(ctx context.Context, e *connection.Env, c *objects.Client, name string) (*v1alpha1.Machine, error) {
	return kinds.FindAs[*v1alpha1.Machine](ctx, e, c, kinds.Machine, name)
}
