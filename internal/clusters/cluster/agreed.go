package cluster

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// WaitAgreed waits until no status of a cluster speaks of an earlier life of KQueen: none is called ready whose control
// plane is not. It says whether that was reached before ctx ended.
func WaitAgreed(ctx context.Context, direct client.Reader) (bool, error) {
	return operator.WaitAgreed(ctx, func(ctx context.Context) (bool, error) { return agree(ctx, direct) })
}

// agree says whether every cluster that is ready has a control plane that is, or none.
func agree(ctx context.Context, direct client.Reader) (bool, error) {
	planes, clusters := &v1alpha1.ControlPlaneList{}, &v1alpha1.ClusterList{}
	// The clusters come first: a control plane that fails in between is no disagreement of this start.
	if err := direct.List(ctx, clusters); err != nil {
		return false, fmt.Errorf("list clusters: %w", err)
	}
	if err := direct.List(ctx, planes); err != nil {
		return false, fmt.Errorf("list control planes: %w", err)
	}
	down := map[types.NamespacedName]bool{}
	for i := range planes.Items {
		p := &planes.Items[i]
		down[client.ObjectKeyFromObject(p)] = !apimeta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)
	}
	for i := range clusters.Items {
		c := &clusters.Items[i]
		if down[client.ObjectKeyFromObject(c)] && apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady) {
			return false, nil
		}
	}
	return true, nil
}
