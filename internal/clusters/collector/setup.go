package collector

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"kqueen.io/kqueen/api/v1alpha1"
)

// reconcilesAtOnce is how many clusters begin or end at once. Ending one waits for its session.
const reconcilesAtOnce = 8

// Setup adds the collector to mgr: as a reconciler of Clusters, and as a runnable. Of several replicas, the leader collects.
func (c *Collector) Setup(mgr ctrl.Manager) error {
	if err := mgr.Add(c); err != nil {
		return fmt.Errorf("add the collector: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).Named("collector").For(&v1alpha1.Cluster{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: reconcilesAtOnce}).Complete(c)
}

// Rules are what the collector needs on the admin plane.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"clusters"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
	}
}
