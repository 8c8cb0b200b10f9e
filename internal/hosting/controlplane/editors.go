package controlplane

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Upstream made the ClusterRole edit for one namespace. In all of them it is more than it looks: who has it acts as any
// ServiceAccount, those of the controllers in kube-system, too, one of which may give itself every right; and runs pods in
// kube-system, which no Pod Security level bounds. So the group gets a role like edit without the first, and a policy
// keeps it from the second.
const (
	clusterEdit = v1alpha1.TokenPrefix + v1alpha1.AccessEdit
	// editExtensions is the ClusterRole with what a tenant adds to upstream's edit, for custom resources.
	editExtensions = clusterEdit + "-extensions"
	// systemPolicy is the name of the policy.
	systemPolicy = "kube-system.kqueen.io"
)

// editObjects are the rights of the group of editors beside those to see, in the order in which they are made: what takes
// away comes first.
func editObjects() []client.Object {
	extensions := &rbacv1.ClusterRole{ObjectMeta: accessMeta(editExtensions), AggregationRule: &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{
			MatchLabels:      map[string]string{"rbac.authorization.k8s.io/aggregate-to-edit": "true"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "kubernetes.io/bootstrapping", Operator: metav1.LabelSelectorOpDoesNotExist}},
		}},
	}}
	return append(systemGuard(),
		&rbacv1.ClusterRole{ObjectMeta: accessMeta(clusterEdit), Rules: editing()}, bindingOf(clusterEdit, clusterEdit, v1alpha1.AccessEdit),
		extensions, bindingOf(editExtensions, editExtensions, v1alpha1.AccessEdit),
	)
}

// editing is upstream's part of edit (system:aggregate-to-edit) without the right to act as ServiceAccounts.
func editing() []rbacv1.PolicyRule {
	write := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"create", "delete", "deletecollection", "patch", "update"}}
	}
	create := func(resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: resources, Verbs: []string{"create"}}
	}
	return []rbacv1.PolicyRule{
		readOnly("", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"),
		write("", "pods", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy"),
		create("pods/eviction", "serviceaccounts/token"),
		write("", "configmaps", "persistentvolumeclaims", "replicationcontrollers", "replicationcontrollers/scale", "secrets",
			"serviceaccounts", "services", "services/proxy"),
		write("", "events"), write("events.k8s.io", "events"),
		write("apps", "daemonsets", "deployments", "deployments/rollback", "deployments/scale", "replicasets", "replicasets/scale",
			"statefulsets", "statefulsets/scale"),
		write("autoscaling", "horizontalpodautoscalers"),
		write("batch", "cronjobs", "jobs"),
		write("policy", "poddisruptionbudgets"),
		write("networking.k8s.io", "ingresses", "networkpolicies"),
		readOnly("coordination.k8s.io", "leases"), write("coordination.k8s.io", "leases"),
		write("resource.k8s.io", "resourceclaims", "resourceclaimtemplates"),
	}
}

// systemGuard keeps editors from changing anything in kube-system, and from entering what runs there. All that the API server
// would fill in is said: what a tenant adds would be overlooked otherwise.
func systemGuard() []client.Object {
	in := func(group string) string {
		return fmt.Sprintf("(has(request.userInfo.groups) && request.userInfo.groups.exists(g, g == '%s%s'))", v1alpha1.TokenPrefix, group)
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: accessMeta(systemPolicy),
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: ptr.To(admissionv1.Equivalent), ObjectSelector: &metav1.LabelSelector{},
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": metav1.NamespaceSystem}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.OperationAll},
					Rule: admissionv1.Rule{
						APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}, Scope: ptr.To(admissionv1.NamespacedScope),
					},
				}}},
			},
			MatchConditions: []admissionv1.MatchCondition{{
				Name: "editors", Expression: in(v1alpha1.AccessEdit) + " && !" + in(v1alpha1.AccessClusterAdmin),
			}},
			Validations: []admissionv1.Validation{{
				Expression: "false", Reason: ptr.To(metav1.StatusReasonForbidden),
				Message: "who may edit changes nothing in " + metav1.NamespaceSystem + ", and enters nothing there: its pods are not bounded; a credential with cluster-admin may",
			}},
		},
	}
	return []client.Object{policy, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: accessMeta(systemPolicy),
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: systemPolicy, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}}
}
