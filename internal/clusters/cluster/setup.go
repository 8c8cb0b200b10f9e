package cluster

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Setup adds the reconcilers of Cluster and Provisioner to mgr. A Cluster is also looked at when an object changes that
// a driver made for it, and when it gets a node pool or loses one. What of the Config mgr has need not be set.
func Setup(mgr ctrl.Manager, config Config) error {
	clusters := ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Cluster{}).WithOptions(operator.Parallel()).
		Watches(&v1alpha1.NodePool{}, handler.EnqueueRequestsFromMapFunc(clusterOfPool), builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	for _, d := range config.Drivers {
		for _, owned := range d.Describe().Owns {
			clusters = clusters.Owns(owned)
		}
	}
	config.Client, config.Secrets, config.Recorder = mgr.GetClient(), mgr.GetAPIReader(), operator.Recorder(mgr)
	if err := clusters.Complete(New(config)); err != nil {
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
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pool.Namespace, Name: pool.Spec.ClusterName}}}
}

// Rules are what the reconcilers of this package need on the admin plane, drivers apart.
func Rules() []rbacv1.PolicyRule {
	return append(append(operator.Rules("clusters"), operator.Rules("provisioners")...),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"nodepools", "machines"}, "get", "list", "watch", "delete"),
		operator.Rule("", []string{"secrets"}, "get", "list", "create", "update", "patch", "delete"),
	)
}
