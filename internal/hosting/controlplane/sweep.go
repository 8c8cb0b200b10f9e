package controlplane

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Sweep removes what runs on a host for ControlPlanes and Machines that are no more, which can be only when a user took
// a finalizer away by hand. running are the UIDs of what ran before Sweep was called: the other order would kill what
// was begun in between.
func Sweep(ctx context.Context, admin client.Reader, running []string, remove func(ctx context.Context, uid string) error) error {
	wanted := map[string]bool{}
	for _, list := range []client.ObjectList{&v1alpha1.ControlPlaneList{}, &v1alpha1.MachineList{}} {
		if err := admin.List(ctx, list); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
		_ = apimeta.EachListItem(list, func(o runtime.Object) error {
			wanted[string(o.(client.Object).GetUID())] = true
			return nil
		})
	}
	for _, uid := range running {
		if wanted[uid] {
			continue
		}
		if err := remove(ctx, uid); err != nil {
			return fmt.Errorf("remove workload %s: %w", uid, err)
		}
	}
	return nil
}
