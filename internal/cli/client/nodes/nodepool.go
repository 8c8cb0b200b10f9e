package nodes

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewNodePoolCommand returns `nodepool` and what is under it.
func NewNodePoolCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "nodepool",
		Aliases: []string{"nodepools", "np"},
		Short:   "Create, scale and delete nodepools: sets of identical nodes",
		Example: `  kqueen nodepool create gpu --cluster demo --nodes 2 --label gpu=yes --wait
  kqueen nodepool scale gpu --nodes 3
  kqueen nodepool autoscale gpu --min 0 --max 5
  kqueen nodepool delete gpu`,
	}
	command.Group(cmd)
	update, _ := verbs.UpdateCommand(e, kinds.NodePool, `kqueen nodepool update gpu --spec '{"maxReplicas":10}'`)
	cmd.AddCommand(
		newCreateNodePoolCommand(e),
		verbs.ListCommand(e, kinds.NodePool),
		verbs.GetCommand(e, kinds.NodePool),
		newDescribeNodePoolCommand(e),
		newScaleCommand(e),
		newAutoscaleCommand(e),
		update,
		newDeleteNodePoolCommand(e),
		verbs.WaitCommand(e, kinds.NodePool, v1alpha1.ConditionClusterReady, v1alpha1.ConditionHealthy, v1alpha1.ConditionUpdated, v1alpha1.ConditionScaled),
	)
	return cmd
}

// newDescribeNodePoolCommand returns `nodepool describe`.
func newDescribeNodePoolCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show details of a nodepool and its nodes",
		Example:           "  kqueen nodepool describe demo",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.NodePool, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return describeNodePool(cmd.Context(), e, args[0])
		},
	}
}

func describeNodePool(ctx context.Context, e *connection.Env, name string) error {
	c, err := e.Connect()
	if err != nil {
		return err
	}
	pool, err := findPool(ctx, e, c, name)
	if err != nil {
		return err
	}
	pool.Spec.Default() // a server of another version may leave out what this one knows
	p := &describe.Page{}
	describePoolSpec(p, e.Organization(), pool)
	describe.Conditions(p, pool.Status.Status)
	describeAutoscaling(p, pool)
	machines, err := kinds.Fetch(ctx, c, machinesOf(e, name))
	if err != nil {
		return err
	}
	describe.Objects(p, "Nodes", kinds.Machine, machines)
	if err := describe.Events(ctx, e, c, p, kinds.EventsOf(e, name, kinds.NodePool.Kind)); err != nil {
		return err
	}
	return p.Print(e.Stdout)
}

// describePoolSpec adds what the user wants of a pool, and how much of it is there.
func describePoolSpec(p *describe.Page, organization string, pool *v1alpha1.NodePool) {
	spec, status := pool.Spec, pool.Status
	version := spec.Version
	if version == "" {
		version = "that of the cluster"
	}
	p.Fields("",
		"Name", pool.Name,
		"Organization", organization,
		"Labels", describe.Pairs(pool.Labels),
		"Age", kinds.Age(pool.CreationTimestamp.Time),
		"Deleting", describe.Deleting(pool),
		"Cluster", spec.ClusterName,
		"Version", version,
		"Nodes", fmt.Sprintf("%d wanted, %d there, %d ready, %d updated", spec.Replicas, status.Replicas, status.ReadyReplicas, status.UpdatedReplicas),
		"At least", kinds.Optional(spec.MinReplicas),
		"At most", kinds.Optional(spec.MaxReplicas),
		"Autoscaling", autoscalingInWords(&spec),
		"Next retry", describe.In(status.NextRetryTime),
	)
	p.Heading("Each node")
	p.Fields("  ",
		"Provider", spec.Template.Provider,
		"Resources", resourcesInWords(spec.Template.Resources),
		"Volume capacity", quantityInWords(spec.Template.VolumeCapacity),
		"Labels", describe.Pairs(spec.Template.Labels),
		"Taints", taintsInWords(spec.Template.Taints),
		"Drain timeout", patience(spec.Template.Drain.Timeout()),
	)
	describe.Parameters(p, spec.Template.Parameters)
	p.Heading("Replacement")
	p.Fields("  ",
		"When unready for", duration.HumanDuration(spec.Health.UnreadyTimeout()),
		"When not started in", duration.HumanDuration(spec.Health.StartupTimeout()),
		"Unless unhealthy are more than", spec.Health.MaxUnhealthy.String(),
		"Surge", spec.Rollout.MaxSurge.String(),
		"Unavailable", spec.Rollout.MaxUnavailable.String(),
	)
}

// patience says how long pods may take to leave a node.
func patience(timeout time.Duration) string {
	if timeout == 0 {
		return "none: it waits without limit"
	}
	return duration.HumanDuration(timeout)
}

// taintsInWords returns taints as kubectl writes them.
func taintsInWords(taints []corev1.Taint) string {
	words := make([]string, 0, len(taints))
	for _, taint := range taints {
		words = append(words, taint.ToString())
	}
	return strings.Join(words, ", ")
}

// findPool returns the organization's pool of that name.
func findPool(ctx context.Context, e *connection.Env, c *objects.Client, name string) (*v1alpha1.NodePool, error) {
	return kinds.FindAs[*v1alpha1.NodePool](ctx, e, c, kinds.NodePool, name)
}

// machinesOf is the source of the machines of a pool.
func machinesOf(e *connection.Env, pool string) kinds.Source {
	s := kinds.In(e, kinds.Machine)
	s.Labels = v1alpha1.LabelNodePool + "=" + pool
	return s
}
