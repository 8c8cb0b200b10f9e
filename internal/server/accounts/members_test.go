package accounts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
)

func TestMembersChange(t *testing.T) {
	alice := v1alpha1.Member{User: "alice", Role: v1alpha1.RoleOwner}
	group := v1alpha1.Member{Group: "alice", Role: v1alpha1.RoleViewer}
	lower := v1alpha1.Member{User: "alice", Role: v1alpha1.RoleViewer}
	for name, tc := range map[string]struct{ have, with, without []v1alpha1.Member }{
		"None":    {nil, []v1alpha1.Member{lower}, nil},
		"Other":   {[]v1alpha1.Member{group}, []v1alpha1.Member{group, lower}, []v1alpha1.Member{group}},
		"Changed": {[]v1alpha1.Member{alice, group}, []v1alpha1.Member{lower, group}, []v1alpha1.Member{group}},
		"Twice":   {[]v1alpha1.Member{group, alice, lower}, []v1alpha1.Member{group, lower}, []v1alpha1.Member{group}},
	} {
		kept := append([]v1alpha1.Member(nil), tc.have...)
		if diff := cmp.Diff(tc.with, withMember(tc.have, lower)); diff != "" {
			t.Errorf("%s: set (-want +got)\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.without, withoutMember(tc.have, lower)); diff != "" {
			t.Errorf("%s: removed (-want +got)\n%s", name, diff)
		}
		if diff := cmp.Diff(kept, tc.have); diff != "" {
			t.Errorf("%s: what was given has changed\n%s", name, diff)
		}
	}
}

func TestMemberInPath(t *testing.T) {
	for path, want := range map[string]v1alpha1.Member{
		"user:alice": {User: "alice"}, "user:corp:a@b.example": {User: "corp:a@b.example"}, "group:corp:x/y": {Group: "corp:x/y"},
		"": {}, "alice": {}, "user:": {}, "group:": {}, "role:owner": {}, "user:a\nb": {}, "user:\xff": {},
		"user:" + strings.Repeat("x", 257): {}, "user:" + strings.Repeat("ä", 256): {User: strings.Repeat("ä", 256)},
	} {
		got, err := OfMember{Member: path}.member()
		if got != want || (err != nil) != (want == v1alpha1.Member{}) {
			t.Errorf("%q is %+v, %v", path, got, err)
		}
	}
}
