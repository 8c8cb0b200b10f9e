package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Setup adds the reconcilers of Cluster and Provisioner to mgr. A Cluster is also looked at when an object changes that
// a driver made for it, when it gets a node pool or loses one, and when what it is reached by does; agents gets the UIDs of those
// whose agent has come or is lost. No cluster is looked at before the barrier opens: that is once the control planes were looked at. What of the Config mgr has need not be set.
func Setup(ctx context.Context, mgr ctrl.Manager, config Config, agents *operator.Notices, barrier *operator.Barrier) error {
	if err := operator.IndexUID(ctx, mgr.GetFieldIndexer(), &v1alpha1.Cluster{}); err != nil {
		return err
	}
	clusters := ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Cluster{}).WithOptions(operator.Parallel()).
		Watches(&v1alpha1.NodePool{}, handler.EnqueueRequestsFromMapFunc(clusterOfPool), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.Secret{}, builder.OnlyMetadata). // the manager's cache follows those of agents alone
		WatchesRawSource(agents.ByIndex(mgr.GetClient(), operator.UIDIndex, func() client.ObjectList { return &v1alpha1.ClusterList{} }))
	clusters = clusters.Watches(&v1alpha1.Machine{}, handler.EnqueueRequestsFromMapFunc(clusterOfMachine), builder.WithPredicates(sleepsOtherwise()))
	for _, busy := range []client.Object{&v1alpha1.Upgrade{}, &v1alpha1.Rotation{}, &v1alpha1.Restore{}} {
		clusters = clusters.Watches(busy, handler.EnqueueRequestsFromMapFunc(clusterOfWork))
	}
	for _, d := range config.Drivers {
		for _, owned := range d.Describe().Owns {
			clusters = clusters.Owns(owned)
		}
	}
	config.Client, config.Secrets, config.Recorder = mgr.GetClient(), mgr.GetAPIReader(), operator.Recorder(mgr)
	if err := clusters.Complete(barrier.Hold(New(config))); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Provisioner{}).Complete(NewProvisionerReconciler(config))
}

// clusterOfPool is the cluster of a node pool.
func clusterOfPool(_ context.Context, o client.Object) []reconcile.Request {
	pool, ok := o.(*v1alpha1.NodePool)
	if !ok {
		return nil
	}
	return requestFor(pool, pool.Spec.ClusterName)
}

// clusterOfMachine is the cluster of a machine.
func clusterOfMachine(_ context.Context, o client.Object) []reconcile.Request {
	return requestFor(o, o.(*v1alpha1.Machine).Spec.ClusterName)
}

// clusterOfWork is the cluster that something goes on in for which it has to run.
func clusterOfWork(_ context.Context, o client.Object) []reconcile.Request {
	switch o := o.(type) {
	case *v1alpha1.Upgrade:
		return requestFor(o, o.Spec.ClusterName)
	case *v1alpha1.Rotation:
		return requestFor(o, o.Spec.ClusterName)
	case *v1alpha1.Restore:
		return requestFor(o, o.Status.ClusterName)
	}
	return nil
}

func requestFor(o client.Object, cluster string) []reconcile.Request {
	if cluster == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: cluster}}}
}

// sleepsOtherwise lets through what of a machine decides whether its cluster may sleep.
func sleepsOtherwise() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, now := e.ObjectOld.(*v1alpha1.Machine), e.ObjectNew.(*v1alpha1.Machine)
		return old.Sleeps() != now.Sleeps() || (old.Status.JoinTime == nil) != (now.Status.JoinTime == nil) ||
			old.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero()
	}}
}

// Rules are what the reconcilers of this package need on the admin plane, drivers apart.
func Rules() []rbacv1.PolicyRule {
	return append(append(operator.Rules("clusters"), operator.Rules("provisioners")...),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"nodepools", "machines"}, "get", "list", "watch", "delete"),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"upgrades", "rotations", "restores"}, "get", "list", "watch"),
		operator.Rule("", []string{"secrets"}, "get", "list", "watch", "create", "update", "patch", "delete"),
	)
}
