//go:build linux

package app

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/backup"
	"kqueen.io/kqueen/internal/clusters/backupschedule"
	"kqueen.io/kqueen/internal/clusters/cluster"
	"kqueen.io/kqueen/internal/clusters/collector"
	"kqueen.io/kqueen/internal/clusters/provision/hosted"
	"kqueen.io/kqueen/internal/clusters/rehearsal"
	"kqueen.io/kqueen/internal/clusters/rotation"
	"kqueen.io/kqueen/internal/clusters/upgrade"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/gateway"
	"kqueen.io/kqueen/internal/platform/admission"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
	"kqueen.io/kqueen/internal/tenancy/organization"
	"kqueen.io/kqueen/internal/workers/autoscaler"
	"kqueen.io/kqueen/internal/workers/machinecontroller"
	"kqueen.io/kqueen/internal/workers/nodepool"
)

// ClusterRole is what KQueen needs on an admin plane that is not its own: all that each package says it needs. It is in
// deploy/clusterrole.yaml.
func ClusterRole() *rbacv1.ClusterRole {
	return operator.Role("kqueen",
		engine.Rules(), admission.Rules(), backup.Rules(), backupschedule.Rules(), upgrade.Rules(), rehearsal.Rules(), rotation.Rules(), cluster.Rules(), hosted.Rules(), controlplane.Rules(), gateway.Rules(), collector.Rules(),
		organization.Rules(), identityprovider.Rules(), nodepool.Rules(), autoscaler.Rules(), machinecontroller.Rules(), serverRules(),
	)
}

// serverRules are what the REST API needs: it acts as its callers, asks what they may, reads from a cache, and keeps
// Secrets for them.
func serverRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		operator.Rule("", []string{"users", "groups"}, "impersonate"),
		operator.Rule("authentication.k8s.io", []string{"uids", "userextras/*"}, "impersonate"),
		operator.Rule(authorizationv1.GroupName, []string{"subjectaccessreviews"}, "create"),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"*"}, "get", "list", "watch"),
		operator.Rule("", []string{"secrets"}, "get", "create", "update", "delete"),
	}
}
