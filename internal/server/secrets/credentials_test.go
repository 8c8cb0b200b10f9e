package secrets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckCredentials(t *testing.T) {
	many := map[string]string{}
	for i := range maxCredentialKeys + 1 {
		many[fmt.Sprint("k", i)] = "v"
	}
	large := map[string]string{}
	for i := range maxCredentials/maxCredentialValue + 1 {
		large[fmt.Sprint("k", i)] = strings.Repeat("v", maxCredentialValue)
	}
	for name, tc := range map[string]struct {
		values map[string]string
		want   []string
	}{
		"Good":    {map[string]string{"token": "x", "ca.crt": strings.Repeat("v", maxCredentialValue)}, nil},
		"None":    {nil, []string{""}},
		"Many":    {many, []string{""}},
		"Large":   {large, []string{""}},
		"Values":  {map[string]string{"a": "", "b": strings.Repeat("v", maxCredentialValue+1)}, []string{"/a", "/b"}},
		"Keys":    {map[string]string{"": "x", "a/b": "x", "a b": "x", "..": "x", strings.Repeat("k", 65): "x"}, []string{"/", "/..", "/a b", "/a~1b", "/" + strings.Repeat("k", 65)}},
		"Unicode": {map[string]string{"schlüssel": "x"}, []string{"/schlüssel"}},
	} {
		var got []string
		for _, e := range checkCredentials(tc.values, maxCredentialValue) {
			got = append(got, e.Pointer)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
