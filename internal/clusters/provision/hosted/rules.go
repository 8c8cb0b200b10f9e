package hosted

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Rules are what the driver needs on the admin plane.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"controlplanes"}, "get", "list", "watch", "create", "update", "patch", "delete"),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"releases"}, "get", "list", "watch"),
		operator.Rule("", []string{"secrets"}, "get"),
	}
}
