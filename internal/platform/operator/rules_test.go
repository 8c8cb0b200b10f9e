package operator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestRoleSaysOnceWhatPackagesNeed(t *testing.T) {
	named := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"groups"}, Verbs: []string{"impersonate"}, ResourceNames: []string{"g"}}
	got := Role("test",
		[]rbacv1.PolicyRule{Rule("b", []string{"things"}, "list", "get"), named},
		[]rbacv1.PolicyRule{Rule("b", []string{"others", "things"}, "get"), Rule("b", []string{"others"}, "list"), Rule("a", []string{"things"}, "get")},
		[]rbacv1.PolicyRule{Rule("b", []string{"last"}, "watch")},
	)
	want := []rbacv1.PolicyRule{
		Rule("a", []string{"things"}, "get"),
		Rule("b", []string{"last"}, "watch"),
		Rule("b", []string{"others", "things"}, "get", "list"),
		named,
	}
	if diff := cmp.Diff(want, got.Rules); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
