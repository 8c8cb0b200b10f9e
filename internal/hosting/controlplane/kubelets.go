package controlplane

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
)

// kubelets are the addresses at which the API server may call kubelets: those that are recorded of the machines of its
// cluster. What a Node says of itself does not count, because an administrator of the cluster can write it.
func (r *reconciler) kubelets(ctx context.Context, cp *v1alpha1.ControlPlane) ([]netip.Addr, error) {
	owner := metav1.GetControllerOf(cp)
	if owner == nil || owner.Kind != "Cluster" {
		return nil, nil // no machine belongs to it
	}
	list := &v1alpha1.MachineList{}
	if err := r.Client.List(ctx, list, client.InNamespace(cp.Namespace)); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	return recorded(list.Items, owner.Name), nil
}

// recorded are the addresses of the machines of a cluster, in order. It is pure.
func recorded(machines []v1alpha1.Machine, cluster string) []netip.Addr {
	var out []netip.Addr
	for i := range machines {
		addr, err := netip.ParseAddr(machines[i].Status.Address)
		if machines[i].Spec.ClusterName == cluster && err == nil {
			out = append(out, addr.Unmap())
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// ofMachine asks for the control plane of a machine's cluster, which has its name.
func ofMachine() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		name := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.(*v1alpha1.Machine).Spec.ClusterName}
		return []reconcile.Request{{NamespacedName: name}}
	})
}

// moved lets pass machines of which the address has changed, or is not needed any more.
func moved() builder.Predicates {
	return builder.WithPredicates(predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return e.Object.(*v1alpha1.Machine).Status.Address != "" },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.(*v1alpha1.Machine).Status.Address != e.ObjectNew.(*v1alpha1.Machine).Status.Address
		},
	})
}
