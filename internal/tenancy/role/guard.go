package role

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// administered are the fields of an Organization that its owners, who may update it, may not change.
var administered = []string{
	"spec.quota", "spec.provisionerNames", "spec.releases", "spec.drivers", "spec.dataStoreNames", "spec.machineProviders",
	"spec.podSecurity", "spec.egress",
	"metadata.finalizers", "metadata.ownerReferences",
}

// owned says in CEL whether there is an owner, in an object of that name.
const owned = "(has(%[1]s.spec) && has(%[1]s.spec.members) && %[1]s.spec.members.exists(m, m.role == 'owner'))"

// Guard is what RBAC cannot say of organizations and of the removal of objects.
func Guard() []client.Object { return append(guardOrganizations(), guardCleanup()...) }

// guardOrganizations is what RBAC cannot say, because it knows no fields: an organization's owners change its members and its
// display name, and a user with the RBAC verb [VerbAdminister] changes the rest. An organization that has an owner keeps
// one, because no member could name another. The API server itself holds it, so that it holds without KQueen.
func guardOrganizations() []client.Object {
	may := fmt.Sprintf("authorizer.group('%s').resource('organizations').name(object.metadata.name).check('%s').allowed()",
		v1alpha1.GroupVersion.Group, VerbAdminister)
	var validations []admissionv1.Validation
	for _, field := range administered {
		path := "." + strings.ReplaceAll("?"+field, ".", ".?")
		validations = append(validations, admissionv1.Validation{
			Expression: fmt.Sprintf("object%s == oldObject%s || %s", path, path, may),
			Message:    field + ": only an administrator of the installation changes it",
			Reason:     ptr.To(metav1.StatusReasonForbidden),
		})
	}
	validations = append(validations, admissionv1.Validation{
		Expression: fmt.Sprintf("!%s || %s || %s", fmt.Sprintf(owned, "oldObject"), fmt.Sprintf(owned, "object"), may),
		Message:    "spec.members: the last owner stays one; name another one first, or ask an administrator of the installation",
		Reason:     ptr.To(metav1.StatusReasonForbidden),
	})
	return policy("organization", "organizations", []admissionv1.OperationType{admissionv1.Update}, nil, validations)
}

// whole says in CEL that a list of an object's metadata stays what it is; a new object has none.
const whole = "request.operation == 'DELETE' || object.metadata.?%[1]s.orValue([]) == " +
	"(request.operation == 'UPDATE' ? oldObject.metadata.?%[1]s.orValue([]) : [])"

// guardCleanup keeps users who administer nothing from taking an object away without what KQueen does first: without the
// finalizers, or with dependents that belong to no object any more, machines and control planes would run on that no object tells of
// and no quota counts. RBAC cannot say it. KQueen and administrators of the installation may.
func guardCleanup() []client.Object {
	validations := []admissionv1.Validation{{
		Expression: "request.operation != 'DELETE' || request.options.?propagationPolicy.orValue('') != 'Orphan' && !request.options.?orphanDependents.orValue(false)",
		Message:    "propagationPolicy: Orphan would leave behind what belongs to the object; want Background or Foreground",
		Reason:     ptr.To(metav1.StatusReasonForbidden),
	}}
	for _, field := range []string{"finalizers", "ownerReferences"} {
		validations = append(validations, admissionv1.Validation{
			Expression: fmt.Sprintf(whole, field),
			Message:    "metadata." + field + ": only an administrator of the installation changes it",
			Reason:     ptr.To(metav1.StatusReasonForbidden),
		})
	}
	member := admissionv1.MatchCondition{
		Name:       "member",
		Expression: fmt.Sprintf("'%s' in request.userInfo.groups && !('%s' in request.userInfo.groups)", Authenticated, Admins),
	}
	operations := []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete}
	return policy("cleanup", "*", operations, []admissionv1.MatchCondition{member}, validations)
}

// policy is a policy over a resource of KQueen, with its binding.
func policy(
	name, resource string, operations []admissionv1.OperationType, conditions []admissionv1.MatchCondition, validations []admissionv1.Validation,
) []client.Object {
	name += "." + v1alpha1.GroupVersion.Group
	rule := admissionv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{resource}}
	return []client.Object{
		&admissionv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				FailurePolicy: ptr.To(admissionv1.Fail), MatchConditions: conditions, Validations: validations,
				MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionv1.RuleWithOperations{Operations: operations, Rule: rule},
				}}},
			},
		},
		&admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		},
	}
}
