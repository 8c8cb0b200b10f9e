package nodepool

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// WaitAgreed waits until no status of a pool speaks of an earlier life of KQueen: none counts more ready nodes than it has
// machines whose nodes are ready. Ask it when the machines were looked at. It says whether that was reached before ctx ended.
func WaitAgreed(ctx context.Context, direct client.Reader) (bool, error) {
	return operator.WaitAgreed(ctx, func(ctx context.Context) (bool, error) {
		pools, machines := &v1alpha1.NodePoolList{}, &v1alpha1.MachineList{}
		// The pools come first: a machine that fails in between is no disagreement of this start.
		if err := direct.List(ctx, pools); err != nil {
			return false, fmt.Errorf("list node pools: %w", err)
		}
		if len(pools.Items) == 0 {
			return true, nil
		}
		if err := direct.List(ctx, machines); err != nil {
			return false, fmt.Errorf("list machines: %w", err)
		}
		return agreed(pools.Items, machines.Items), nil
	})
}

// agreed says whether no pool counts more ready nodes than there are. It is pure.
func agreed(pools []v1alpha1.NodePool, machines []v1alpha1.Machine) bool {
	have := map[types.UID]int32{}
	for i := range machines {
		if m := &machines[i]; m.DeletionTimestamp.IsZero() && countable(m) {
			if owner := metav1.GetControllerOf(m); owner != nil {
				have[owner.UID]++
			}
		}
	}
	for i := range pools {
		// One that is being deleted counts no more.
		if p := &pools[i]; p.DeletionTimestamp.IsZero() && p.Status.ReadyReplicas > have[p.UID] {
			return false
		}
	}
	return true
}

// countable says whether a pool may count the node of a machine as ready: one that sleeps is counted as it was.
func countable(m *v1alpha1.Machine) bool { return ready(m) || m.Sleeps() }
