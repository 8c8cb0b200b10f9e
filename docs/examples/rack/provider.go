// Package rack is the machine provider that docs/development/drivers.md shows: a machine is a file in a folder, as if a robot put
// one into a rack for each file that it finds.
//
// It hides that folder. It is an example: nothing imports it, and its tests are the contract suite.
package rack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/workers/machine"
)

// name is that by which a NodePool asks for the provider.
const name = "rack"

// Provider puts machines into a rack.
type Provider struct {
	// Dir is the robot's folder.
	Dir string
	// Slots is how many machines there is room for.
	Slots int
	// Versions are those for which there are disks with Kubernetes on them.
	Versions []string
}

var _ machine.Provider = (*Provider)(nil)

// order is what the robot reads.
type order struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Token   string `json:"token"`
	Server  string `json:"server"`
}

// Describe says what the provider is.
func (*Provider) Describe() machine.Description {
	return machine.Description{
		Name:             name,
		Summary:          "Machines of an example rack.",
		ParametersSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
	}
}

// Ensure writes the order. The file has the machine's UID as its name, so that a second try finds the first one's.
func (p *Provider) Ensure(ctx context.Context, want machine.Desired) (machine.Observed, error) {
	if err := p.check(want); err != nil {
		return machine.Observed{}, err
	}
	observed := machine.Observed{State: machine.Running, ProviderID: machine.ProviderID(name, want.UID)}
	all, err := p.List(ctx)
	if err != nil || slices.Contains(all, want.UID) {
		return observed, err
	}
	if want.Token == "" { // its node has joined, and could not again
		observed.State, observed.Message = machine.Lost, "there is nothing of the machine in the rack"
		return observed, nil
	}
	if len(all) >= p.Slots {
		return machine.Observed{}, fmt.Errorf("%w: all %d slots of the rack are taken", machine.ErrCapacity, p.Slots)
	}
	data, err := json.Marshal(order{Name: want.Name, Version: want.Version, Token: want.Token, Server: want.Cluster.Server})
	if err != nil {
		return machine.Observed{}, fmt.Errorf("write the order: %w", err)
	}
	// It holds a token.
	if err := atomicfile.Write(p.path(want.UID), data, 0o600); err != nil {
		return machine.Observed{}, fmt.Errorf("write the order: %w", err)
	}
	return observed, nil
}

func (p *Provider) check(want machine.Desired) error {
	if !slices.Contains(p.Versions, want.Version) {
		return &invalid.Error{Field: "spec.version", Problem: "there is no disk with " + want.Version, Want: strings.Join(p.Versions, " or ")}
	}
	return machine.NoParameters("rack", want.Parameters)
}

// Delete takes the order back.
func (p *Provider) Delete(ctx context.Context, of machine.Target) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	err := os.Remove(p.path(of.UID))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("take the order back: %w", err)
	}
	return true, nil
}

// List names the machines by the files.
func (p *Provider) List(ctx context.Context) ([]types.UID, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(p.Dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list the orders: %w", err)
	}
	var all []types.UID
	for _, file := range files {
		all = append(all, types.UID(strings.TrimSuffix(filepath.Base(file), ".json")))
	}
	return all, nil
}

func (p *Provider) path(uid types.UID) string { return filepath.Join(p.Dir, string(uid)+".json") }
