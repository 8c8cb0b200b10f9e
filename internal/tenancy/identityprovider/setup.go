package identityprovider

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/tenancy/access/oidc"
)

// Setup adds the reconciler of IdentityProvider to mgr. check asks an issuer what it says about itself. One issuer that
// does not answer keeps no other one waiting.
func Setup(mgr ctrl.Manager, check func(context.Context, oidc.Provider) error) error {
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.IdentityProvider{}).WithOptions(operator.Parallel()).
		Complete(New(Config{Client: mgr.GetClient(), Secrets: mgr.GetAPIReader(), Check: check, Recorder: operator.Recorder(mgr)}))
}

// Rules are what the reconciler and Source need on the admin plane.
func Rules() []rbacv1.PolicyRule {
	return append(operator.Rules("identityproviders"), operator.Rule("", []string{"secrets"}, "get", "create", "update", "delete"))
}
