//go:build linux

package app

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/workers/machine"
)

// sweep removes what runs for control planes and machines that are no more, which can be only when somebody took
// a finalizer away by hand. What runs is listed before what is wanted: the other order would kill
// what was begun in between.
func (a *App) sweep(ctx context.Context, c client.Reader, local machine.Provider) error {
	running, err := a.runner.List(ctx)
	if err != nil {
		return err
	}
	list := &v1alpha1.ControlPlaneList{}
	if err := c.List(ctx, list); err != nil {
		return fmt.Errorf("list control planes: %w", err)
	}
	machines := &v1alpha1.MachineList{}
	if err := c.List(ctx, machines); err != nil {
		return fmt.Errorf("list machines: %w", err)
	}
	wanted := map[string]bool{}
	for i := range list.Items {
		wanted[string(list.Items[i].UID)] = true
	}
	for i := range machines.Items {
		wanted[string(machines.Items[i].UID)] = true
	}
	for _, id := range running {
		if wanted[id] || engine.Owns(a.Engine, id) {
			continue
		}
		a.Log.Warn("removing a workload whose object is gone", "workload", id)
		// For a workload that is no machine this is nothing but the runner's Remove.
		if _, err := local.Delete(ctx, machine.Ref{UID: types.UID(id)}); err != nil {
			return fmt.Errorf("remove workload %s: %w", id, err)
		}
	}
	return nil
}
