package objects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestMembersIn: members are read whatever else an organization says, and what has another form is none.
func TestMembersIn(t *testing.T) {
	of := func(spec any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	}
	user := map[string]any{"user": "alice", "role": "owner"}
	for name, tc := range map[string]struct {
		o    *unstructured.Unstructured
		want []v1alpha1.Member
	}{
		"New":     {nil, nil},
		"NoSpec":  {&unstructured.Unstructured{}, nil},
		"None":    {of(map[string]any{"members": nil, "quota": "many"}), nil},
		"Members": {of(map[string]any{"members": []any{user, map[string]any{"group": "ops", "role": "viewer"}}, "quota": 5}), []v1alpha1.Member{{User: "alice", Role: "owner"}, {Group: "ops", Role: "viewer"}}},
		"Forms":   {of(map[string]any{"members": []any{"alice", map[string]any{"user": "eve", "role": 5}}}), []v1alpha1.Member{{}, {}}},
		"NoList":  {of(map[string]any{"members": user}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, membersIn(tc.o)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
