package access

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiffering(t *testing.T) {
	type ids = map[string][]string
	tests := map[string]struct {
		a, b ids
		want []string
	}{
		"Nothing": {nil, ids{}, nil},
		"Same":    {ids{"x": {"1", "2"}}, ids{"x": {"1", "2"}}, nil},
		"New":     {ids{"x": {"1"}}, ids{"x": {"1"}, "z": {"1"}, "y": {"2"}}, []string{"y", "z"}},
		"Over":    {ids{"x": {"1"}}, nil, []string{"x"}},
		"Longer":  {ids{"x": {"1"}, "y": {"1"}}, ids{"x": {"1", "2"}, "y": {"1"}}, []string{"x"}},
		"Other":   {ids{"x": {"1"}}, ids{"x": {"2"}}, []string{"x"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, differing(tc.a, tc.b)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
