//go:build linux

package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/gatekeeper"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// gateHost is a supervisor whose gates answer when it says so.
type gateHost struct {
	dir     string
	ready   bool
	applied map[string]supervise.Workload
}

func (h *gateHost) Reserve(_ context.Context, id string, ports []string) (supervise.Place, error) {
	place := supervise.Place{Dir: filepath.Join(h.dir, id), Addr: netip.MustParseAddr("127.0.0.1"), Port: map[string]int{}}
	for i, name := range ports {
		place.Port[name] = 31000 + i
	}
	return place, os.MkdirAll(place.Dir, 0o700)
}

func (h *gateHost) Apply(_ context.Context, w supervise.Workload) error {
	h.applied[w.ID] = w
	return nil
}

func (h *gateHost) Status(_ context.Context, id string) (supervise.Status, error) {
	state := health.Starting
	if h.ready {
		state = health.Ready
	}
	return supervise.Status{Components: []supervise.ComponentStatus{{Component: health.Component{Name: id, State: state}}}}, nil
}

func (h *gateHost) Remove(_ context.Context, id string, _ time.Duration) (bool, error) {
	delete(h.applied, id)
	return true, nil
}

// TestGates: a data store has a gate of its own, which is awaited once and goes with it, and the engine's store that of the engine.
func TestGates(t *testing.T) {
	ctx, h := t.Context(), &gateHost{dir: t.TempDir(), applied: map[string]supervise.Workload{}}
	engines := &controlplane.Gate{Endpoint: "https://127.0.0.1:2380"}
	g := &gates{
		own: controlplane.FixedGates{"default": engines}, keeper: &gatekeeper.Keeper{Supervisor: h, Program: "/kqueen"}, keys: t.TempDir(),
		log: slog.New(slog.DiscardHandler), running: map[types.UID]*runningGate{}, removed: map[types.UID]bool{},
	}
	if got, err := g.Of(ctx, &controlplane.Store{Name: "default", UID: "u-1"}); got != engines || err != nil || len(h.applied) > 0 {
		t.Errorf("the engine's store has the gate %v (%v), and %v run", got, err, h.applied)
	}
	second := &controlplane.Store{Name: "second", UID: "u-2", Endpoints: []string{"https://192.0.2.7:2379"}, CA: []byte("ca")}
	if _, err := g.Of(ctx, second); !errors.Is(err, controlplane.ErrGateNotReady) || len(g.Ready()) != 1 {
		t.Errorf("a gate that has just begun: %v, and %d are ready", err, len(g.Ready()))
	}
	h.ready = true
	first, err := g.Of(ctx, second)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"default", "second"}, slices.Sorted(maps.Keys(g.Ready()))); d != "" {
		t.Errorf("ready: -want +got\n%s", d)
	}
	h.ready = false // a moment of it is the supervisor's business
	second.Endpoints = append(second.Endpoints, "https://192.0.2.8:2379")
	other, err := g.Of(ctx, second)
	if err != nil || other.Tenants != first.Tenants {
		t.Errorf("with another member it has other tenants: %v", err)
	}
	if args := h.applied["store-gate-u-2"].Components[0].Args; !slices.Contains(args, "192.0.2.7:2379,192.0.2.8:2379") {
		t.Errorf("the gate stands before %v", args)
	}
	if err := g.Remove(ctx, second.UID); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Of(ctx, second); !errors.Is(err, controlplane.ErrStoreNotFound) {
		t.Errorf("a caller that has not heard that it is gone: %v", err)
	}
	if err := g.Tend(ctx, second); !errors.Is(err, controlplane.ErrStoreNotFound) {
		t.Errorf("a look at it from before it went: %v", err)
	}
	if files, err := filepath.Glob(filepath.Join(g.keys, "*")); err != nil || len(files)+len(h.applied) > 0 || len(g.Ready()) != 1 {
		t.Errorf("left are %v and %v (%v)", files, h.applied, err)
	}
}
