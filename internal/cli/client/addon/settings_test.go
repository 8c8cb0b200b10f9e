package addon

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
)

func TestEdits(t *testing.T) {
	const some = `[{"name":"a","values":{"x":1,"y":2}},{"name":"b","enabled":true}]`
	for name, tc := range map[string]struct {
		reason, from string
		do           edit
		want         string
	}{
		"First":    {"a cluster may set none yet", `[]`, enabled("a", false, nil), `[{"name":"a","enabled":false}]`},
		"Switched": {"values and other addons stay", some, enabled("a", false, nil), `[{"name":"a","enabled":false,"values":{"x":1,"y":2}},{"name":"b","enabled":true}]`},
		"Merged":   {"what is not named stays", some, enabled("a", true, map[string]any{"x": 3, "y": nil}), `[{"name":"a","enabled":true,"values":{"x":3}},{"name":"b","enabled":true}]`},
		"NoValues": {"none are left", some, enabled("a", true, map[string]any{"x": nil, "y": nil}), `[{"name":"a","enabled":true},{"name":"b","enabled":true}]`},
		"Reset":    {"all of it is gone", some, reset("a"), `[{"name":"b","enabled":true}]`},
		"Unset":    {"there is nothing to remove", some, reset("c"), some},
	} {
		t.Run(name, func(t *testing.T) {
			var from []v1alpha1.AddonSetting
			if err := json.Unmarshal([]byte(tc.from), &from); err != nil {
				t.Fatal(err)
			}
			got, err := tc.do(from)
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			before, err := json.Marshal(from)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(data)) + cmp.Diff(tc.from, string(before)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
