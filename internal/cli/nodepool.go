package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// newNodePoolCommand returns `nodepool` and what is under it.
func newNodePoolCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "nodepool",
		Aliases: []string{"nodepools", "np"},
		Short:   "Make, scale and delete sets of like nodes",
		Example: `  kqueen nodepool create gpu --cluster demo --nodes 2 --label gpu=yes --wait
  kqueen nodepool scale gpu --nodes 3
  kqueen nodepool delete gpu`,
	}
	asGroup(cmd)
	update, _ := newUpdateCommand(e, nodePoolNoun, `kqueen nodepool update gpu --spec '{"maxReplicas":10}'`)
	cmd.AddCommand(
		newCreateNodePoolCommand(e),
		newListCommand(e, nodePoolNoun),
		newGetCommand(e, nodePoolNoun),
		newDescribeNodePoolCommand(e),
		newScaleCommand(e),
		update,
		newDeleteNodePoolCommand(e),
		newWaitCommand(e, nodePoolNoun, v1alpha1.ConditionClusterReady, v1alpha1.ConditionHealthy, v1alpha1.ConditionUpdated, v1alpha1.ConditionScaled),
	)
	return cmd
}

// newDescribeNodePoolCommand returns `nodepool describe`.
func newDescribeNodePoolCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show all about a nodepool and its nodes, on a page for people",
		Example:           "  kqueen nodepool describe demo",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeNames(nodePoolNoun, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.describeNodePool(cmd.Context(), args[0])
		},
	}
}

func (e *env) describeNodePool(ctx context.Context, name string) error {
	c, err := e.connect()
	if err != nil {
		return err
	}
	pool, err := e.findPool(ctx, c, name)
	if err != nil {
		return err
	}
	p := &page{}
	describePoolSpec(p, e.organization(), pool)
	describeConditions(p, pool.Status.Status)
	machines, err := fetch(ctx, c, e.machinesOf(name))
	if err != nil {
		return err
	}
	describeObjects(p, "Nodes", machineNoun, machines)
	if err := e.describeEvents(ctx, c, p, e.eventsOf(name, nodePoolNoun.kind)); err != nil {
		return err
	}
	return p.print(e.stdout)
}

// describePoolSpec adds what somebody wants of a pool, and how much of it is there.
func describePoolSpec(p *page, organization string, pool *v1alpha1.NodePool) {
	spec, status := pool.Spec, pool.Status
	version := spec.Version
	if version == "" {
		version = "that of the cluster"
	}
	p.fields("",
		"Name", pool.Name,
		"Organization", organization,
		"Labels", pairs(pool.Labels),
		"Age", age(pool.CreationTimestamp.Time),
		"Deleting", deletingSince(pool),
		"Cluster", spec.ClusterName,
		"Version", version,
		"Nodes", fmt.Sprintf("%d wanted, %d there, %d ready, %d updated", spec.Replicas, status.Replicas, status.ReadyReplicas, status.UpdatedReplicas),
		"At least", optional(spec.MinReplicas),
		"At most", optional(spec.MaxReplicas),
		"Next try", nextTry(status.NextTry),
	)
	p.heading("Each node")
	p.fields("  ",
		"Provider", spec.Template.Provider,
		"Resources", resourcesInWords(spec.Template.Resources),
		"Labels", pairs(spec.Template.Labels),
		"Taints", taintsInWords(spec.Template.Taints),
		"Drain timeout", patience(spec.Template.Drain.Timeout),
	)
	describeParameters(p, spec.Template.Parameters)
	p.heading("Replacement")
	p.fields("  ",
		"When unready for", duration.HumanDuration(spec.Health.UnreadyTimeout.Duration),
		"When not started in", duration.HumanDuration(spec.Health.StartupTimeout.Duration),
		"Unless unhealthy are more than", spec.Health.MaxUnhealthy.String(),
		"Surge", spec.Rollout.MaxSurge.String(),
		"Unavailable", spec.Rollout.MaxUnavailable.String(),
	)
}

// patience says how long pods may take to leave a node.
func patience(timeout *metav1.Duration) string {
	if timeout.Duration == 0 {
		return "none, it waits for ever"
	}
	return duration.HumanDuration(timeout.Duration)
}

// optional returns a number that may be left open.
func optional(number *int32) string {
	if number == nil {
		return ""
	}
	return strconv.Itoa(int(*number))
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
func (e *env) findPool(ctx context.Context, c client.Client, name string) (*v1alpha1.NodePool, error) {
	object, err := e.find(ctx, c, nodePoolNoun, name)
	if err != nil {
		return nil, err
	}
	pool, ok := object.(*v1alpha1.NodePool)
	if !ok {
		return nil, fmt.Errorf("get nodepool %s: it is a %T", name, object)
	}
	return pool, nil
}

// machinesOf is the source of the machines of a pool.
func (e *env) machinesOf(pool string) source {
	return source{
		noun:      machineNoun,
		namespace: e.namespace(),
		options:   []client.ListOption{client.MatchingLabels{v1alpha1.LabelNodePool: pool}},
	}
}

// poolsOf returns the pools of a cluster. Who may not see them, or asks an admin plane that is too old to
// know them, gets none.
func (e *env) poolsOf(ctx context.Context, c client.Client, cluster string) ([]*v1alpha1.NodePool, error) {
	objects, err := fetch(ctx, c, source{noun: nodePoolNoun, namespace: e.namespace()})
	if apierrors.IsForbidden(err) || apimeta.IsNoMatchError(err) {
		return nil, nil
	}
	var pools []*v1alpha1.NodePool
	for _, object := range objects {
		if pool, ok := object.(*v1alpha1.NodePool); ok && pool.Spec.ClusterName == cluster {
			pools = append(pools, pool)
		}
	}
	return pools, err
}
