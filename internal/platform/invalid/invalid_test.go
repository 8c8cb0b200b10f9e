package invalid_test

import (
	"errors"
	"fmt"
	"testing"

	"kqueen.io/kqueen/internal/platform/invalid"
)

func TestError(t *testing.T) {
	cases := map[string]struct {
		err          error
		want, detail string
	}{
		"Whole":   {&invalid.Error{Field: "name", Problem: "it is empty", Want: "a name"}, "name: it is empty; want a name", "it is empty; want a name"},
		"NoWant":  {invalid.New("spec.size", "%d is too much", 3), "spec.size: 3 is too much", "3 is too much"},
		"NoField": {&invalid.Error{Problem: "it is empty"}, "it is empty", "it is empty"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bad, ok := errors.AsType[*invalid.Error](fmt.Errorf("create it: %w", c.err))
			if !ok || bad.Error() != c.want || bad.Detail() != c.detail {
				t.Errorf("got %v, %q, want %q, %q", bad, bad.Detail(), c.want, c.detail)
			}
		})
	}
}
