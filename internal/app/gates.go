//go:build linux

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/gatekeeper"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/storegate"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// gatePrefix begins the workloads of gates before data stores that are not the engine's; the UID of the DataStore follows.
const gatePrefix = "store-gate-"

// gatePatience is longer than a gate takes to start.
const gatePatience = 3 * time.Second

func gateOf(dataStore types.UID) string { return gatePrefix + string(dataStore) }

func isGate(id string) bool { return strings.HasPrefix(id, gatePrefix) }

// gates are what stands before data stores: the engine's own gate, and one that runs here before each other store. It is safe for
// concurrent use.
type gates struct {
	own    controlplane.FixedGates
	keeper *gatekeeper.Keeper
	// keys is the folder with the authorities of those that run here, a file each.
	keys string
	log  *slog.Logger

	mu      sync.Mutex // held while one is begun: another caller would only begin it again
	running map[types.UID]*runningGate
	removed map[types.UID]bool
}

// runningGate is one that runs here, and what it was begun with.
type runningGate struct {
	store     string
	endpoints []string
	ca        []byte
	gate      *controlplane.Gate
	ready     bool // it answered once: from then on the supervisor keeps it
}

// newGates makes those of an installation, whose engine may have a store with a gate of its own.
func newGates(a *App, store *engine.Store) *gates {
	g := &gates{
		keeper: &gatekeeper.Keeper{Supervisor: a.supervisor, Program: a.Program, Patience: gatePatience}, keys: filepath.Join(a.Dir, "keys"), log: a.Log,
		running: map[types.UID]*runningGate{}, removed: map[types.UID]bool{},
	}
	if store == nil || store.Gate == nil {
		return g
	}
	g.own = controlplane.FixedGates{engine.StoreName: controlplane.NewGate(store.Gate.Endpoint, store.Gate.Keys, g.open(engine.StoreName, store.Gate.Tenants), usageIn(store.Gate.Usage))}
	return g
}

// open reads the tenants of a gate. What is damaged is written anew.
func (g *gates) open(store, file string) *storegate.Table {
	tenants, damaged := storegate.OpenTable(file)
	if damaged != nil {
		g.log.Error("the tenants of a store gate are written again", "store", store, "error", damaged)
	}
	return tenants
}

func usageIn(file string) func() (storegate.Usage, error) {
	return func() (storegate.Usage, error) { return storegate.ReadUsage(file) }
}

// Of implements [controlplane.Gates].
func (g *gates) Of(ctx context.Context, store *controlplane.Store) (*controlplane.Gate, error) {
	if own := g.own[store.Name]; own != nil {
		return own, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.running[store.UID]
	if r == nil || !slices.Equal(r.endpoints, store.Endpoints) || !bytes.Equal(r.ca, store.CA) {
		var err error
		if r, err = g.begin(ctx, store); err != nil {
			return nil, err
		}
	}
	if r.ready {
		return r.gate, nil
	}
	ready, err := g.keeper.Ready(ctx, gateOf(store.UID))
	if err != nil {
		return nil, err
	}
	if !ready {
		return nil, controlplane.ErrGateNotReady
	}
	r.ready = true
	return r.gate, nil
}

// Tend implements [controlplane.Gates]. What presents a gate's certificate is renewed by it, too.
func (g *gates) Tend(ctx context.Context, store *controlplane.Store) error {
	if g.own[store.Name] != nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := g.begin(ctx, store)
	return err
}

// begin is called with the lock held. One that runs goes on, or another one takes its place.
func (g *gates) begin(ctx context.Context, store *controlplane.Store) (*runningGate, error) {
	if g.removed[store.UID] {
		return nil, fmt.Errorf("%q: %w", store.Name, controlplane.ErrStoreNotFound)
	}
	members, err := gatekeeper.Members(store.Endpoints)
	if err != nil {
		return nil, err
	}
	keys, err := g.issue(store)
	if err != nil {
		return nil, fmt.Errorf("keys of the gate before data store %s: %w", store.Name, err)
	}
	made, err := g.keeper.Run(ctx, gatekeeper.Store{
		Workload: gateOf(store.UID), Subject: supervise.Subject{Name: "store-gate/" + store.Name}, Members: members, CA: store.CA, Keys: keys,
	})
	if err != nil {
		return nil, err
	}
	r := &runningGate{store: store.Name, endpoints: slices.Clone(store.Endpoints), ca: bytes.Clone(store.CA)}
	var tenants controlplane.GateTenants
	if before := g.running[store.UID]; before != nil { // there is one table of each file
		tenants, r.ready = before.gate.Tenants, before.ready
	} else {
		tenants = g.open(store.Name, made.Tenants)
	}
	r.gate = controlplane.NewGate(made.Endpoint, keys, tenants, usageIn(made.Usage))
	g.running[store.UID] = r
	return r, nil
}

// issue is the authority of a gate and what it has signed for the gate. With another authority the certificates of tenants are issued
// anew, so that a file that is damaged is no loss.
func (g *gates) issue(store *controlplane.Store) (pki.Bundle, error) {
	set, err := pki.StoreGate(string(store.UID))
	if err != nil {
		return nil, err
	}
	file := g.file(store.UID)
	keys, err := pki.IssueFile(file, set, nil, pki.Forgetful{})
	if _, damaged := errors.AsType[*atomicfile.DamagedError](err); !damaged {
		return keys, err
	}
	aside, failed := atomicfile.SetAside(file)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	g.log.Error("the keys of a store gate were damaged; there are new ones", "store", store.Name, "setAside", aside)
	return pki.IssueFile(file, set, nil, pki.Forgetful{})
}

func (g *gates) file(dataStore types.UID) string {
	return filepath.Join(g.keys, gateOf(dataStore)+".json")
}

// Remove implements [controlplane.Gates].
func (g *gates) Remove(ctx context.Context, dataStore types.UID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removed[dataStore] = true
	if err := g.keeper.Remove(ctx, gateOf(dataStore)); err != nil {
		return err
	}
	if err := os.Remove(g.file(dataStore)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the keys of a store gate: %w", err)
	}
	delete(g.running, dataStore)
	return nil
}

// Ready implements [controlplane.Gates].
func (g *gates) Ready() map[string]*controlplane.Gate {
	all := map[string]*controlplane.Gate{}
	maps.Copy(all, g.own)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.running {
		if r.ready {
			all[r.store] = r.gate
		}
	}
	return all
}

// sweep removes the gates among running whose DataStore is gone, which can be only when a user took a finalizer away by hand.
func (g *gates) sweep(ctx context.Context, admin client.Reader, running []string) error {
	list := &v1alpha1.DataStoreList{}
	if err := admin.List(ctx, list); err != nil {
		return fmt.Errorf("list data stores: %w", err)
	}
	wanted := map[string]bool{}
	for i := range list.Items {
		wanted[gateOf(list.Items[i].UID)] = true
	}
	for _, id := range running {
		if !isGate(id) || wanted[id] {
			continue
		}
		g.log.Warn("removing a store gate whose data store is gone", "workload", id)
		if err := g.Remove(ctx, types.UID(strings.TrimPrefix(id, gatePrefix))); err != nil {
			return err
		}
	}
	return nil
}
