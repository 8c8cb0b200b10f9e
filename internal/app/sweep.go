//go:build linux

package app

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/standalone"
)

// sweep removes what runs for control planes that are no more, which can be only when somebody took
// a finalizer away by hand. What runs is listed before what is wanted: the other order would kill
// what was begun in between.
func (a *App) sweep(ctx context.Context, c client.Reader) error {
	running, err := a.runner.List(ctx)
	if err != nil {
		return err
	}
	list := &v1alpha1.ControlPlaneList{}
	if err := c.List(ctx, list); err != nil {
		return fmt.Errorf("list control planes: %w", err)
	}
	wanted := map[string]bool{}
	for i := range list.Items {
		wanted[string(list.Items[i].UID)] = true
	}
	for _, id := range running {
		if wanted[id] || standalone.IsOwn(id) {
			continue
		}
		a.Log.Warn("removing a workload whose control plane is gone", "workload", id)
		if _, err := a.runner.Remove(ctx, id, 0); err != nil {
			return fmt.Errorf("remove workload %s: %w", id, err)
		}
	}
	return nil
}
