//go:build linux

package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/tenancy/access"
)

const (
	// endedInterval is the time between two looks at which sessions and tokens have ended with which somebody entered a
	// cluster. Another replica may have ended them, so that nobody tells us.
	endedInterval = 2 * time.Second
	// audienceIndex finds a ControlPlane by what tokens for it carry.
	audienceIndex = "audience"
)

// ended knows which sessions and tokens have ended with which somebody entered a cluster.
type ended struct {
	access *access.Service
	planes client.Reader
	wakes  *wakes
	log    *slog.Logger
	ids    atomic.Pointer[map[string][]string] // by audience
}

// addEnded keeps looking once the manager runs. It looks at once, so that no control plane is told less than it knows.
func (a *App) addEnded(ctx context.Context, mgr ctrl.Manager, d *door) (*ended, error) {
	index := func(o client.Object) []string { return []string{controlplane.Audience(o.(*v1alpha1.ControlPlane))} }
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.ControlPlane{}, audienceIndex, index); err != nil {
		return nil, err
	}
	e := &ended{access: d.access, planes: mgr.GetClient(), wakes: a.wakes, log: d.log}
	if _, err := e.look(ctx); err != nil {
		return nil, err
	}
	return e, mgr.Add(e)
}

// of returns the ids for one audience, in order.
func (e *ended) of(audience string) []string { return (*e.ids.Load())[audience] }

// Start implements manager.Runnable.
func (e *ended) Start(ctx context.Context) error {
	tick := time.NewTicker(endedInterval)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		changed, err := e.look(ctx)
		if err == nil {
			err = e.wake(ctx, changed)
		}
		if err != nil && !failed {
			e.log.Error("tell clusters which credentials have ended", "error", err)
		}
		failed = err != nil
	}
}

// look reads what has ended, and returns the audiences for which that is not what it was.
func (e *ended) look(ctx context.Context) (changed []string, err error) {
	now, err := e.access.Ended(ctx)
	if err != nil {
		return nil, err
	}
	if before := e.ids.Swap(&now); before != nil {
		changed = differing(*before, now)
	}
	return changed, nil
}

// differing are the keys that two maps do not have in common, or not with the same value, in order.
func differing(a, b map[string][]string) []string {
	found := map[string]bool{}
	for _, m := range []map[string][]string{a, b} {
		for key := range m {
			if !slices.Equal(a[key], b[key]) {
				found[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// wake lets the control planes be looked at that take tokens for these audiences.
func (e *ended) wake(ctx context.Context, audiences []string) error {
	for _, audience := range audiences {
		list := &v1alpha1.ControlPlaneList{}
		if err := e.planes.List(ctx, list, client.MatchingFields{audienceIndex: audience}); err != nil {
			return fmt.Errorf("find the control plane for %s: %w", audience, err)
		}
		for i := range list.Items {
			e.wakes.controlPlane(list.Items[i].UID)
		}
	}
	return nil
}
