package rack_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"kqueen.io/kqueen/docs/examples/rack"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/machine/machinetest"
)

func TestContract(t *testing.T) {
	machinetest.Run(t, func(t *testing.T) machinetest.Subject {
		p := &rack.Provider{Dir: t.TempDir(), Slots: 8, Versions: []string{"v1.36.3"}}
		return machinetest.Subject{
			Provider: p,
			Again: func(*testing.T) machine.Provider {
				return &rack.Provider{Dir: p.Dir, Slots: p.Slots, Versions: p.Versions}
			},
			Version: "v1.36.3",
			Left: func(t *testing.T, refs ...machine.Ref) []string {
				var left []string
				for _, ref := range refs {
					if _, err := os.Stat(filepath.Join(p.Dir, string(ref.UID)+".json")); err == nil {
						left = append(left, ref.Name)
					}
				}
				return left
			},
		}
	})
}

// TestFullRack: what there is no room for is told from what is wrong.
func TestFullRack(t *testing.T) {
	p := &rack.Provider{Dir: t.TempDir(), Versions: []string{"v1.36.3"}}
	want := machinetest.Subject{Provider: p, Version: "v1.36.3"}.Want("c1", "one")
	if _, err := p.Ensure(t.Context(), want); !errors.Is(err, machine.ErrCapacity) {
		t.Errorf("want ErrCapacity, got %v", err)
	}
}
