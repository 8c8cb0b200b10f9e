package autoscaler

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
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

// Config is what the reconciler is made of. All fields but Recorder are required.
type Config struct {
	// Client of the admin plane, and Reader one of it without a cache.
	Client client.Client
	Reader client.Reader
	// Read looks at a cluster, within bounds of time and bytes.
	Read func(context.Context, *v1alpha1.Cluster) (Seen, error)
	// Host is what the host has, for machines whose size is not said.
	Host func() corev1.ResourceList
	// Measures counts what is done.
	Measures *Measures
	Recorder events.EventRecorder
	Now      func() time.Time
}

// Setup adds the reconciler to mgr. Of c it fills in Client, Reader, Recorder and Now.
func Setup(mgr ctrl.Manager, c Config) error {
	c.Client, c.Reader, c.Recorder, c.Now = mgr.GetClient(), mgr.GetAPIReader(), operator.Recorder(mgr), time.Now
	// A cluster is looked at as soon as it answers.
	answers := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Cluster)
		after, also := e.ObjectNew.(*v1alpha1.Cluster)
		return ok && also && !errors.Is(unasked(before), unasked(after))
	}}
	gone := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	return ctrl.NewControllerManagedBy(mgr).Named("autoscaler").WithOptions(operator.Parallel()).
		For(&v1alpha1.Cluster{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, answers))).
		Watches(&v1alpha1.NodePool{}, ofCluster(), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		// When a machine is gone the next one may go.
		Watches(&v1alpha1.Machine{}, ofCluster(), builder.WithPredicates(gone)).
		Complete(New(c))
}

// ofCluster asks for a look at the cluster of a pool or a machine.
func ofCluster() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		at := types.NamespacedName{Namespace: o.GetNamespace()}
		switch o := o.(type) {
		case *v1alpha1.NodePool:
			at.Name = o.Spec.ClusterName
		case *v1alpha1.Machine:
			at.Name = o.Spec.ClusterName
		}
		return []reconcile.Request{{NamespacedName: at}}
	})
}

// Rules are what the reconciler needs on the admin plane.
func Rules() []rbacv1.PolicyRule {
	group := v1alpha1.GroupVersion.Group
	return []rbacv1.PolicyRule{
		operator.Rule(group, []string{"clusters"}, "get", "list", "watch"),
		operator.Rule(group, []string{"nodepools"}, "get", "list", "watch", "patch"),
		operator.Rule(group, []string{"nodepools/status"}, "patch"),
		operator.Rule(group, []string{"machines"}, "get", "list", "watch", "patch"),
		operator.Rule("events.k8s.io", []string{"events"}, "create", "patch"),
	}
}
