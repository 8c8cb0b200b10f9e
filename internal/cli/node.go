package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// newNodeCommand returns `node` and what is under it.
func newNodeCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "node",
		Aliases: []string{"nodes"},
		Short:   "Show, drain and replace single nodes, and join machines",
		Long: `Show, drain and replace single nodes, and make the machine on which this runs one.

A node is shown here as KQueen's Machine, which has the node's name. What a node
says of itself all the time is in its cluster: see "kubectl get nodes" there.`,
		Example: `  kqueen node list --cluster demo
  kqueen node drain demo-x7k2f
  kqueen node replace demo-x7k2f --wait`,
	}
	asGroup(cmd)
	update, _ := newUpdateCommand(e, machineNoun, "kqueen node update demo-x7k2f --annotation example.com/rack=7")
	cmd.AddCommand(
		newListCommand(e, machineNoun),
		newGetCommand(e, machineNoun),
		newDescribeNodeCommand(e),
		newDrainCommand(e),
		newUncordonCommand(e),
		newReplaceCommand(e),
		update,
		newJoinCommand(e),
	)
	return cmd
}

// newDescribeNodeCommand returns `node describe`.
func newDescribeNodeCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show all about a node, on a page for people",
		Example:           "  kqueen node describe demo-x7k2f",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeNames(machineNoun, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.describeNode(cmd.Context(), args[0])
		},
	}
}

func (e *env) describeNode(ctx context.Context, name string) error {
	c, err := e.connect()
	if err != nil {
		return err
	}
	machine, err := e.findMachine(ctx, c, name)
	if err != nil {
		return err
	}
	p := &page{}
	spec, status := machine.Spec, machine.Status
	p.fields("",
		"Name", machine.Name,
		"Organization", e.organization(),
		"Cluster", spec.ClusterName,
		"Nodepool", machine.Labels[v1alpha1.LabelNodePool],
		"Age", age(machine.CreationTimestamp.Time),
		"Deleting", deletingSince(machine),
		"Removed first", machine.Annotations[v1alpha1.AnnotationDeleteFirst],
		"Version", versionOnTheWay(status.Version, spec.Version),
		"Provider", spec.Provider,
		"Resources", resourcesInWords(spec.Resources),
		"Provider ID", status.ProviderID,
		"Address", status.Address,
		"Pods", status.PodCIDR,
		"Joined", ago(status.JoinedAt),
		"Draining", since(status.DrainBegan),
		"Drain timeout", patience(spec.Drain.Timeout),
		"Labels", pairs(spec.Labels),
		"Taints", taintsInWords(spec.Taints),
		"Next try", nextTry(status.NextTry),
	)
	describeParameters(p, spec.Parameters)
	describeConditions(p, status.Status)
	if err := e.describeEvents(ctx, c, p, e.eventsOf(name, machineNoun.kind)); err != nil {
		return err
	}
	return p.print(e.stdout)
}

// since says for how long something goes on, or nothing.
func since(moment *metav1.Time) string {
	if moment == nil {
		return ""
	}
	return "since " + age(moment.Time)
}

// ago says how long ago something was, or nothing.
func ago(moment *metav1.Time) string {
	if moment == nil {
		return ""
	}
	return age(moment.Time) + " ago"
}

// findMachine returns the organization's machine of that name.
func (e *env) findMachine(ctx context.Context, c client.Client, name string) (*v1alpha1.Machine, error) {
	object, err := e.find(ctx, c, machineNoun, name)
	if err != nil {
		return nil, err
	}
	machine, ok := object.(*v1alpha1.Machine)
	if !ok {
		return nil, fmt.Errorf("get node %s: it is a %T", name, object)
	}
	return machine, nil
}
