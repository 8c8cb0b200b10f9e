package nodepool

import (
	"context"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Setup adds the reconciler of NodePool to mgr. prepare is Config.Prepare. No pool is looked at before the barrier opens: that is once the machines were looked at.
func Setup(mgr ctrl.Manager, prepare func(context.Context, *v1alpha1.Cluster) error, barrier *operator.Barrier) error {
	c := mgr.GetClient()
	pools := New(Config{Client: c, Reader: mgr.GetAPIReader(), Prepare: prepare, Now: time.Now, Recorder: operator.Recorder(mgr)})
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.NodePool{}).Owns(&v1alpha1.Machine{}).
		Watches(&v1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(PoolsOf(c))).
		WithOptions(operator.Parallel()).Complete(barrier.Hold(pools))
}

// Rules are what the reconciler needs on the admin plane.
func Rules() []rbacv1.PolicyRule {
	return append(operator.Rules("nodepools"),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"clusters"}, "get", "list", "watch"),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"machines"}, "get", "list", "watch", "create", "update", "patch", "delete"),
		operator.Rule("", []string{"secrets"}, "get"),
	)
}
