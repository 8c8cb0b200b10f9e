package organization

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
)

func TestUnseen(t *testing.T) {
	of := func(nodes ...int64) []grant {
		var all []grant
		for _, n := range nodes {
			all = append(all, grant{Amount: Amount{Nodes: n}})
		}
		return all
	}
	again := grant{Amount: Amount{Nodes: 3}, after: "old"}
	tests := map[string]struct {
		grants []grant
		uid    types.UID
		shown  int64
		gone   bool
		want   []grant
	}{
		"nothing was let through":                 {nil, "a", 3, false, nil},
		"it is shown":                             {of(3), "a", 3, false, nil},
		"what was there before is shown":          {of(3), "a", 2, false, of(3)},
		"the first of two":                        {of(3, 5), "a", 3, false, of(5)},
		"the second: the first failed or was":     {of(5, 3), "a", 3, false, nil},
		"the same twice":                          {of(3, 5, 3), "a", 3, false, nil},
		"it is gone":                              {of(3, 5), "a", 3, true, nil},
		"a new one of the same name":              {[]grant{again}, "new", 3, false, nil},
		"the old one is shown once more":          {[]grant{again}, "old", 3, false, []grant{again}},
		"the old one goes, and the new one comes": {append(of(3), again), "old", 3, true, []grant{again}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := len(tc.grants)
			got := unseen(tc.grants, tc.uid, Amount{Nodes: tc.shown}, tc.gone)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(grant{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(tc.grants) != before {
				t.Error("the grants were changed in place")
			}
		})
	}
}
