package machinecontroller

import (
	"context"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/workers/machine"
)

// Setup adds the reconciler of Machine to mgr. changed gets the UID of a machine on this host when its runner says that
// a program of it changed. What Setup returns knows which machines were looked at: until then their statuses speak of an earlier life.
func Setup(
	ctx context.Context, mgr ctrl.Manager, clusters Clusters, providers map[string]machine.Provider, changed *operator.Notices,
) (*operator.FirstLooks, error) {
	c := mgr.GetClient()
	if err := operator.IndexUID(ctx, mgr.GetFieldIndexer(), &v1alpha1.Machine{}); err != nil {
		return nil, err
	}
	looks := operator.NewFirstLooks(New(Config{
		Client: c, Reader: mgr.GetAPIReader(), Clusters: clusters, Providers: providers, Recorder: operator.Recorder(mgr), Now: time.Now,
	}))
	return looks, ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Machine{}).
		Watches(&v1alpha1.Cluster{}, machinesOf(c, OfCluster)).
		Watches(&v1alpha1.Machine{}, machinesOf(c, Peers), builder.WithPredicates(moved())).
		WatchesRawSource(changed.ByIndex(c, operator.UIDIndex, func() client.ObjectList { return &v1alpha1.MachineList{} })).
		WithOptions(operator.Parallel()).Complete(looks)
}

// Rules are what the reconciler needs on the admin plane.
func Rules() []rbacv1.PolicyRule {
	return append(operator.Rules("machines"),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"clusters"}, "get", "list", "watch"),
		operator.Rule("", []string{"secrets"}, "get", "list", "create", "update", "patch", "delete"),
	)
}

// machinesOf finds the machines of the object's namespace that choose picks.
func machinesOf[T client.Object](c client.Reader, choose func([]v1alpha1.Machine, T) []reconcile.Request) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		list := &v1alpha1.MachineList{}
		// It fails only when the cache is not there yet, and then every machine is looked at anyhow.
		if err := c.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
			return nil
		}
		return choose(list.Items, o.(T))
	})
}

// moved lets pass what a machine's peers have to know.
func moved() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return Moved(e.ObjectOld.(*v1alpha1.Machine), e.ObjectNew.(*v1alpha1.Machine))
		},
	}
}
