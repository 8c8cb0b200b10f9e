package operator

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"kqueen.io/kqueen/api/v1alpha1"
)

// parallel is how many objects of one kind are worked on at once. The work is waiting for the API
// and the store, not computing.
const parallel = 8

// Parallel are the options of a controller, one object of which keeps no other one waiting.
func Parallel() controller.Options { return controller.Options{MaxConcurrentReconciles: parallel} }

// Recorder records events as KQueen.
func Recorder(mgr manager.Manager) events.EventRecorder { return mgr.GetEventRecorder("kqueen") }

// Rules are what the kit needs to reconcile a kind, named by its resource such as "clusters".
func Rules(resource string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		Rule(v1alpha1.GroupVersion.Group, []string{resource}, "get", "list", "watch", "patch"),
		Rule(v1alpha1.GroupVersion.Group, []string{resource + "/status"}, "patch"),
		// For references to an owner that block its deletion.
		Rule(v1alpha1.GroupVersion.Group, []string{resource + "/finalizers"}, "update"),
		Rule("events.k8s.io", []string{"events"}, "create", "patch"),
	}
}

// Rule allows RBAC verbs on resources of an API group.
func Rule(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// Role is a ClusterRole with the rules that several packages need.
func Role(name string, rules ...[]rbacv1.PolicyRule) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{Rules: merge(rules)}
	role.APIVersion, role.Kind, role.Name = rbacv1.SchemeGroupVersion.String(), "ClusterRole", name
	return role
}
