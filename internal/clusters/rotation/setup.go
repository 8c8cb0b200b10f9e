package rotation

import (
	"context"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Config is what the reconciler is made of. All fields but Recorder are required.
type Config struct {
	// Client of the admin plane, and Reader one of it without a cache.
	Client client.Client
	Reader client.Reader
	// OlderPods finds the pods of a cluster that began before a time, and may hold what they read then of the cluster's credentials.
	OlderPods func(ctx context.Context, cluster *v1alpha1.Cluster, than time.Time) (Pods, error)
	// State opens what a control plane stores.
	State func(ctx context.Context, plane *v1alpha1.ControlPlane) (State, error)
	// Rewriter returns what has the API server of a cluster write a Secret as it is.
	Rewriter func(ctx context.Context, cluster *v1alpha1.Cluster) (func(ctx context.Context, namespace, name string) error, error)
	Recorder events.EventRecorder
	Now      func() time.Time
}

// reconciler holds the phases.
type reconciler struct{ Config }

// Setup adds the reconciler of Rotation to mgr. Of c it fills in Client, Reader, Recorder and Now.
func Setup(mgr ctrl.Manager, c Config) error {
	c.Client, c.Reader, c.Recorder, c.Now = mgr.GetClient(), mgr.GetAPIReader(), operator.Recorder(mgr), time.Now
	r := &reconciler{c}
	look := handler.EnqueueRequestsFromMapFunc(r.unended)
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Rotation{}).WithOptions(operator.Parallel()).
		Watches(&v1alpha1.Cluster{}, look).Watches(&v1alpha1.ControlPlane{}, look).Watches(&v1alpha1.Machine{}, look).
		Complete(r.operator())
}

// unended are the rotations in the namespace of an object that have not ended: there are few.
func (r *reconciler) unended(ctx context.Context, o client.Object) []reconcile.Request {
	list := &v1alpha1.RotationList{}
	if err := r.Client.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
		return nil // each looks by itself soon
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if !ended(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// Rules are what the reconciler needs on the admin plane.
func Rules() []rbacv1.PolicyRule {
	group := v1alpha1.GroupVersion.Group
	return append(operator.Rules("rotations"),
		operator.Rule(group, []string{"controlplanes"}, "get", "list", "watch", "patch"),
		operator.Rule(group, []string{"backups", "clusters", "machines"}, "get", "list", "watch"),
	)
}
