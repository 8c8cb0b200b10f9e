package controlplane

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/egress"
)

// allowed is what the API server may call beside its own cluster: what administrators allow to all organizations, and to its
// own. It goes into the mark of its entry, which the egress reads again when it changes: nothing is restarted.
func (r *reconciler) allowed(ctx context.Context, cp *v1alpha1.ControlPlane) ([]egress.Destination, error) {
	o, err := organizationOf(ctx, r.Client, cp.Namespace)
	if err != nil {
		return nil, err
	}
	return destinations(r.EgressAllowed, o.EgressAllowed()), nil
}

// destinations puts both lists together, in order. What cannot be read, which admission refuses, allows nothing. It is pure.
func destinations(all []egress.Destination, own []string) []egress.Destination {
	out := slices.Clone(all)
	for _, text := range own {
		if d, err := egress.ParseDestination(text); err == nil {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, egress.Destination.Compare)
	return slices.Compact(out)
}

// ofOrganization asks for the control planes of an organization.
func ofOrganization(c client.Reader) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		list := &v1alpha1.ControlPlaneList{}
		if err := c.List(ctx, list, client.InNamespace(o.(*v1alpha1.Organization).OwnedNamespace())); err != nil {
			return nil // each is looked at again soon in any case
		}
		var out []reconcile.Request
		for i := range list.Items {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return out
	})
}

// allowsOtherwise lets pass organizations of which it has changed what they may call.
func allowsOtherwise() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return len(e.Object.(*v1alpha1.Organization).EgressAllowed()) > 0 },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !slices.Equal(e.ObjectOld.(*v1alpha1.Organization).EgressAllowed(), e.ObjectNew.(*v1alpha1.Organization).EgressAllowed())
		},
	}
}
