package machine_test

import (
	"encoding/json"
	"errors"
	"testing"

	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/workers/machine"
)

func TestNoParameters(t *testing.T) {
	cases := map[string]struct{ parameters, field string }{
		"None":    {"", ""},
		"Null":    {"null", ""},
		"Empty":   {"{}", ""},
		"Unknown": {`{"b": 1, "a": 2}`, "spec.template.parameters.a"},
		"List":    {"[]", "spec.template.parameters"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := machine.NoParameters("rack", json.RawMessage(c.parameters))
			field := ""
			if bad, ok := errors.AsType[*invalid.Error](err); ok {
				field = bad.Field
			}
			if field != c.field || (err == nil) != (c.field == "") {
				t.Errorf("got %v, want the field %q", err, c.field)
			}
		})
	}
}
