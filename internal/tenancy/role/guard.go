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
	"spec.quota", "spec.provisioners", "spec.releases", "spec.drivers", "spec.dataStores", "spec.machineProviders",
	"spec.podSecurity", "spec.egress",
	"metadata.finalizers", "metadata.ownerReferences",
}

// owned says in CEL whether there is an owner, in an object of that name.
const owned = "(has(%[1]s.spec) && has(%[1]s.spec.members) && %[1]s.spec.members.exists(m, m.role == 'owner'))"

// Guard is what RBAC cannot say, because it knows no fields: an organization's owners change its members and its
// display name, and a user with the RBAC verb [VerbAdminister] changes the rest. An organization that has an owner keeps
// one, because no member could name another. The API server itself holds it, so that it holds without KQueen.
func Guard() []client.Object {
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
	name := "organization." + v1alpha1.GroupVersion.Group
	return []client.Object{
		&admissionv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				FailurePolicy: ptr.To(admissionv1.Fail),
				MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Update},
						Rule: admissionv1.Rule{
							APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"organizations"},
						},
					},
				}}},
				Validations: validations,
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
