package organization

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// Setup adds the reconciler of Organization to mgr. It looks again when the namespace or a role of one changes.
func Setup(mgr ctrl.Manager, accounts Accounts) error {
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Organization{}).Owns(&corev1.Namespace{}).
		Owns(&rbacv1.RoleBinding{}).Owns(&rbacv1.ClusterRole{}).Owns(&rbacv1.ClusterRoleBinding{}).
		Complete(New(mgr.GetClient(), mgr.GetAPIReader(), accounts, operator.Recorder(mgr)))
}

// Rules are what the reconciler and Limits need on the admin plane. Who grants more than it has must be allowed to.
func Rules() []rbacv1.PolicyRule {
	return append(operator.Rules("organizations"),
		// Without it role.Guard lets no caller change an organization's finalizers.
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"organizations"}, role.VerbAdminister),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"clusters", "nodepools", "controlplanes", "provisioners"}, "get", "list", "watch"),
		operator.Rule("", []string{"namespaces"}, "get", "list", "watch", "create", "delete"),
		operator.Rule(rbacv1.GroupName, []string{"roles", "clusterroles"}, "get", "list", "watch", "create", "update", "delete", "bind", "escalate"),
		operator.Rule(rbacv1.GroupName, []string{"rolebindings", "clusterrolebindings"}, "get", "list", "watch", "create", "update", "delete"),
	)
}
