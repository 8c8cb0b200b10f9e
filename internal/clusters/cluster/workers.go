package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// workersLook is the time between two looks at workers that are being removed.
const workersLook = time.Second

// removeWorkers deletes the cluster's node pools and machines and waits until they are gone. It reads without a
// cache: one that is overlooked would stay for ever.
func (r *reconciler) removeWorkers(ctx context.Context, c *v1alpha1.Cluster) operator.Outcome {
	left, err := r.workers(ctx, c)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonWorkersRemaining, err)
	}
	var names []string
	for _, w := range left {
		names = append(names, w.GetName())
		if !w.GetDeletionTimestamp().IsZero() {
			continue
		}
		uid := w.GetUID()
		if err := client.IgnoreNotFound(r.Client.Delete(ctx, w, client.Preconditions{UID: &uid})); err != nil {
			return operator.Retry(v1alpha1.ReasonWorkersRemaining, fmt.Errorf("delete %s: %w", w.GetName(), err))
		}
	}
	if len(names) == 0 {
		return operator.Done(v1alpha1.ReasonIdle, "")
	}
	slices.Sort(names)
	return operator.Wait(v1alpha1.ReasonWorkersRemaining, "being removed: "+strings.Join(slices.Compact(names), ", "), workersLook)
}

// workers are the node pools of a cluster and its machines. A pool deletes its own machines; those that belong to
// none are deleted with it all the same.
func (r *reconciler) workers(ctx context.Context, c *v1alpha1.Cluster) ([]client.Object, error) {
	pools, machines := &v1alpha1.NodePoolList{}, &v1alpha1.MachineList{}
	for _, list := range []client.ObjectList{pools, machines} {
		if err := r.Secrets.List(ctx, list, client.InNamespace(c.Namespace)); err != nil {
			return nil, fmt.Errorf("list the cluster's workers: %w", err)
		}
	}
	var all []client.Object
	for i := range pools.Items {
		if p := &pools.Items[i]; p.Spec.ClusterName == c.Name {
			all = append(all, p)
		}
	}
	for i := range machines.Items {
		if m := &machines.Items[i]; m.Spec.ClusterName == c.Name {
			all = append(all, m)
		}
	}
	return all, nil
}
