package autoscaler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// state is what the admin plane says of the pools of a cluster, and of their machines.
type state struct {
	pools    []*v1alpha1.NodePool
	machines []v1alpha1.Machine
}

func (r *reconciler) read(ctx context.Context, c *v1alpha1.Cluster, from client.Reader) (state, error) {
	pools, machines := &v1alpha1.NodePoolList{}, &v1alpha1.MachineList{}
	if err := from.List(ctx, pools, client.InNamespace(c.Namespace)); err != nil {
		return state{}, fmt.Errorf("list nodepools: %w", err)
	}
	var out state
	for i := range pools.Items {
		if p := &pools.Items[i]; p.Spec.ClusterName == c.Name {
			out.pools = append(out.pools, p)
		}
	}
	if !slices.ContainsFunc(out.pools, func(p *v1alpha1.NodePool) bool { return scales(p) || p.Status.Autoscaling != nil }) {
		return out, nil
	}
	slices.SortFunc(out.pools, func(a, b *v1alpha1.NodePool) int { return strings.Compare(a.Name, b.Name) })
	if err := from.List(ctx, machines, client.InNamespace(c.Namespace)); err != nil {
		return state{}, fmt.Errorf("list machines: %w", err)
	}
	out.machines = machines.Items
	return out, nil
}

// of are the machines of a pool. The owner says whose they are, because labels can be changed.
func (s state) of(p *v1alpha1.NodePool) []v1alpha1.Machine {
	var out []v1alpha1.Machine
	for i := range s.machines {
		if metav1.IsControlledBy(&s.machines[i], p) {
			out = append(out, s.machines[i])
		}
	}
	return out
}

// changedBy says whether a decision changes how many machines a pool has.
func (s state) changedBy(d Decision) bool {
	return slices.ContainsFunc(s.pools, func(p *v1alpha1.NodePool) bool {
		decided, ok := d.Pools[p.Name]
		return ok && decided.Replicas != p.Spec.Replicas
	})
}

// planned are the pools as Plan takes them.
func (s state) planned(nodes []*corev1.Node, host corev1.ResourceList) []*Pool {
	out := make([]*Pool, 0, len(s.pools))
	for _, p := range s.pools {
		machines := s.of(p)
		pool := &Pool{Name: p.Name, Scales: scales(p), Replicas: p.Spec.Replicas, Held: held(p, machines), Template: templateOf(p, machines, nodes, host)}
		if pool.Scales {
			pool.Min, pool.Max, pool.Idle = least(p), *p.Spec.MaxReplicas, p.Spec.Autoscaling.IdleTime()
		}
		going := !p.DeletionTimestamp.IsZero()
		if going {
			pool.Replicas, pool.Template = 0, nil
		}
		for i := range machines {
			m := &machines[i]
			_, marked := m.Annotations[v1alpha1.AnnotationDeleteFirst]
			pool.Machines = append(pool.Machines, Machine{Name: m.Name, UID: m.UID, Leaving: going || !m.DeletionTimestamp.IsZero(), Marked: marked})
		}
		out = append(out, pool)
	}
	return out
}

// held says why no machine of a pool is removed now, however little it is needed; empty when one may be.
func held(p *v1alpha1.NodePool, machines []v1alpha1.Machine) string {
	is := func(condition string) bool {
		return apimeta.IsStatusConditionFalse(p.Status.Conditions, condition)
	}
	marked := slices.ContainsFunc(machines, func(m v1alpha1.Machine) bool {
		value, has := m.Annotations[v1alpha1.AnnotationDeleteFirst]
		return has && value != markValue && m.DeletionTimestamp.IsZero()
	})
	switch {
	case marked:
		return "a user has marked a machine to go first, by the annotation " + v1alpha1.AnnotationDeleteFirst
	case live(machines) != p.Spec.Replicas:
		return "the pool is on its way to the desired number of machines"
	case p.Annotations[v1alpha1.AnnotationUpgradeHolds] != "":
		return "an upgrade of the cluster goes on"
	case is(v1alpha1.ConditionHealthy):
		return "machines of the pool are not healthy"
	case is(v1alpha1.ConditionUpdated):
		return "machines of the pool are being replaced"
	}
	return ""
}

func live(machines []v1alpha1.Machine) int32 {
	var n int32
	for i := range machines {
		if machines[i].DeletionTimestamp.IsZero() {
			n++
		}
	}
	return n
}
