package component_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/component"
	"kqueen.io/kqueen/internal/platform/invalid"
)

func TestCheck(t *testing.T) {
	type components = []component.Component
	cases := map[string]struct {
		components components
		want       string
	}{
		"None": {},
		"Good": {components{
			{Name: "api", Args: []string{"--a=b", ""}, Env: []string{"A=b", "B="}, RestartOn: []string{"ca.crt"}},
			{Name: "web", After: []string{"api"}, StopGrace: 1},
		}, ""},
		"Name":      {components{{Name: "bad"}}, "components.name: it is bad"},
		"Twice":     {components{{Name: "api"}, {Name: "api"}}, `components.name: "api" is listed twice; names are unique`},
		"ArgZero":   {components{{Name: "api", Args: []string{"a", "b\x00"}}}, `components[api].args: "b\x00" holds a zero byte`},
		"EnvShape":  {components{{Name: "api", Env: []string{"secret"}}}, `components[api].env: entry "secret" is not NAME=value`},
		"EnvNoName": {components{{Name: "api", Env: []string{"=x"}}}, `components[api].env: entry "" is not NAME=value`},
		"EnvZero":   {components{{Name: "api", Env: []string{"A=\x00"}}}, `components[api].env: entry "A" is not NAME=value`},
		"NoFile":    {components{{Name: "api", RestartOn: []string{"x"}}}, `components[api].restartOn: "x" is not one of the workload's files`},
		"Grace":     {components{{Name: "api", StopGrace: -1}}, "components[api].stopGrace: -1ns is negative"},
		"Unknown":   {components{{Name: "api", After: []string{"x"}}}, `components[api].after: "x" is not a component of the workload`},
		"Itself":    {components{{Name: "api", After: []string{"api"}}}, "components[api].after: waits for itself in a circle; it would never start"},
		"Circle": {
			components{{Name: "free"}, {Name: "a", After: []string{"c", "free"}}, {Name: "b", After: []string{"a"}}, {Name: "c", After: []string{"b"}}},
			"components[a].after: waits for itself in a circle; it would never start",
		},
		"Backwards": {components{{Name: "a", After: []string{"b"}}, {Name: "b", After: []string{"c"}}, {Name: "c"}}, ""},
	}
	checkName := func(field, name string) error {
		if name == "bad" {
			return invalid.New(field, "it is bad")
		}
		return nil
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := component.Check(c.components, checkName, func(name string) bool { return name == "ca.crt" })
			if err == nil {
				err = component.CheckOrder(c.components)
			}
			got := ""
			if err != nil {
				if _, ok := errors.AsType[*invalid.Error](err); !ok {
					t.Errorf("want an invalid.Error, got %T", err)
				}
				got = err.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
