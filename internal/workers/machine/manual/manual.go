// Package manual is the provider for machines that users join by a command: it makes nothing, and says what has to be
// done so that a machine joins.
//
// It hides that there is nothing to hide: no state, no process, no file. What becomes of a node that has joined
// is the business of package machinecontroller. Package app, which wires the program, imports it.
package manual

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/workers/machine"
)

// Config is what the provider has to know of the host.
type Config struct {
	// Reachable says that machines elsewhere reach the API servers of this host. They do not while it listens
	// on loopback alone.
	Reachable bool
}

// Provider takes machines that users join.
type Provider struct{ Config }

var _ machine.Provider = (*Provider)(nil)

// New returns the provider.
func New(c Config) *Provider { return &Provider{c} }

// Describe implements [machine.Provider].
func (*Provider) Describe() machine.Description {
	return machine.Description{
		Name:             v1alpha1.ProviderManual,
		Summary:          "Machines that users join with a command.",
		ParametersSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		UserJoins:        true,
	}
}

// Ensure implements [machine.Provider]. A machine without a token has joined, and what runs on it is its
// owner's business: how its node is, its node says.
func (p *Provider) Ensure(_ context.Context, want machine.Desired) (machine.Observed, error) {
	if err := machine.NoParameters(v1alpha1.ProviderManual, want.Parameters); err != nil {
		return machine.Observed{}, err
	}
	if _, err := release.ParseVersion(want.Version); err != nil {
		return machine.Observed{}, invalid.New("spec.version", "%v", err)
	}
	observed := machine.Observed{State: machine.Running, ProviderID: machine.ProviderID(v1alpha1.ProviderManual, want.UID)}
	if want.Token != "" {
		observed.State, observed.Message = machine.Awaiting, p.awaits(want.Name)
	}
	return observed, nil
}

// awaits says what a user has to do. Conditions are read by many: the command itself holds a secret.
func (p *Provider) awaits(name string) string {
	join := "run on the machine what this prints: kqueen node join-command " + name
	if p.Reachable {
		return join
	}
	return "KQueen listens on this host alone, so that machines elsewhere cannot join; start it with: " +
		"kqueen up --listen ADDRESS, with an address that they reach; then " + join
}

// Delete implements [machine.Provider]. Nothing of the machine was ever ours.
func (*Provider) Delete(context.Context, machine.Target) (bool, error) { return true, nil }

// List implements [machine.Provider]. Nothing is kept, so nothing can be left.
func (*Provider) List(context.Context) ([]types.UID, error) { return nil, nil }
