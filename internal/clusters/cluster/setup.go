package cluster

import (
	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Setup adds the reconcilers of Cluster and Provisioner to mgr. A Cluster is also looked at when an object changes that
// a driver made for it.
func Setup(mgr ctrl.Manager, drivers map[string]provision.Driver) error {
	c, recorder := mgr.GetClient(), operator.Recorder(mgr)
	clusters := ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Cluster{}).WithOptions(operator.Parallel())
	for _, d := range drivers {
		for _, owned := range d.Describe().Owns {
			clusters = clusters.Owns(owned)
		}
	}
	config := Config{Client: c, Secrets: mgr.GetAPIReader(), Drivers: drivers, Recorder: recorder}
	if err := clusters.Complete(New(config)); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Provisioner{}).Complete(NewProvisionerReconciler(config))
}

// Rules are what the reconcilers of this package need on the admin plane, drivers apart.
func Rules() []rbacv1.PolicyRule {
	return append(append(operator.Rules("clusters"), operator.Rules("provisioners")...),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"nodepools", "machines"}, "get", "list", "watch", "delete"),
		operator.Rule("", []string{"secrets"}, "get", "list", "create", "update", "patch", "delete"),
	)
}
