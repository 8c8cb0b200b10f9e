package manual_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/machine/machinetest"
	"kqueen.io/kqueen/internal/workers/machine/manual"
)

func TestContract(t *testing.T) {
	machinetest.Run(t, func(*testing.T) machinetest.Subject {
		return machinetest.Subject{
			Provider: manual.New(manual.Config{Reachable: true}),
			Again:    func(*testing.T) machine.Provider { return manual.New(manual.Config{Reachable: true}) },
			Version:  "v1.36.3",
			Left:     func(*testing.T, ...machine.Ref) []string { return nil }, // it has no place where anything could be
		}
	})
}

// TestEnsure follows a machine from waiting to joined, on a KQueen that can be reached and on one that cannot.
func TestEnsure(t *testing.T) {
	const token = "abcdef.0123456789abcdef"
	wanted := func(token string) machine.Desired {
		return machine.Desired{Target: machine.Target{Ref: machine.Ref{UID: types.UID("u1"), Name: "hand-x7k2f"}}, Version: "v1.36.3", Token: token}
	}
	const command = "run on the machine what this prints: kqueen node join-command hand-x7k2f"
	for name, test := range map[string]struct {
		reachable bool
		token     string
		want      machine.Observed
	}{
		"waits": {reachable: true, token: token, want: machine.Observed{State: machine.Awaiting, Message: command, ProviderID: "kqueen://manual/u1"}},
		"cannot be reached": {token: token, want: machine.Observed{
			State: machine.Awaiting, ProviderID: "kqueen://manual/u1",
			Message: "KQueen listens on this host alone, so that machines elsewhere cannot join; start it with: " +
				"kqueen up --listen ADDRESS, with an address that they reach; then " + command,
		}},
		"joined":               {reachable: true, want: machine.Observed{State: machine.Running, ProviderID: "kqueen://manual/u1"}},
		"joined, then cut off": {want: machine.Observed{State: machine.Running, ProviderID: "kqueen://manual/u1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := manual.New(manual.Config{Reachable: test.reachable}).Ensure(t.Context(), wanted(test.token))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.Comparer(func(a, b machine.Observed) bool { return a == b })); diff != "" {
				t.Errorf("the machine is (-want +got):\n%s", diff)
			}
			if strings.Contains(got.Message, token) {
				t.Error("the message, which many may read, holds the token")
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	for name, test := range map[string]struct{ version, parameters, field string }{
		"no version":        {"latest", "", "spec.version"},
		"unknown parameter": {"v1.36.3", `{"b":1,"a":2}`, "spec.template.parameters.a"},
		"no object":         {"v1.36.3", `[]`, "spec.template.parameters"},
	} {
		want := machine.Desired{Version: test.version, Target: machine.Target{Parameters: []byte(test.parameters)}}
		_, err := manual.New(manual.Config{}).Ensure(t.Context(), want)
		if err == nil || !strings.HasPrefix(err.Error(), test.field+": ") {
			t.Errorf("%s: got %v, want an error about %s", name, err, test.field)
		}
	}
	if _, err := manual.New(manual.Config{}).Ensure(t.Context(), machine.Desired{Version: "v1.36.3", Target: machine.Target{Parameters: []byte(`{}`)}}); err != nil {
		t.Errorf("no parameters, written as {}, are refused: %v", err)
	}
}
