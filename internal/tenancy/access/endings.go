package access

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// endingsInterval is the time between two looks at what has ended. Another replica may have ended it, which tells no one.
const endingsInterval = 2 * time.Second

// Endings knows, for each audience, which sessions and tokens have ended with which a user entered its cluster.
type Endings struct {
	entries *Entries
	// changed is told each audience for which that is not what it was.
	changed func(audience string)
	log     *slog.Logger
	ids     atomic.Pointer[map[string][]string] // by audience
}

// NewEndings looks once, so that no cluster is told less than is known, and again as long as Start runs. changed must
// not block.
func NewEndings(ctx context.Context, entries *Entries, changed func(audience string), log *slog.Logger) (*Endings, error) {
	e := &Endings{entries: entries, changed: changed, log: log}
	if _, err := e.look(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// Of returns the ids for one audience, in order.
func (e *Endings) Of(audience string) []string { return (*e.ids.Load())[audience] }

// Start looks until ctx ends.
func (e *Endings) Start(ctx context.Context) error {
	tick := time.NewTicker(endingsInterval)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		changed, err := e.look(ctx)
		for _, audience := range changed {
			e.changed(audience)
		}
		if err != nil && !failed {
			e.log.Error("look which credentials for clusters have ended", "error", err)
		}
		failed = err != nil
	}
}

// look reads what has ended, and returns the audiences for which that is not what it was.
func (e *Endings) look(ctx context.Context) (changed []string, err error) {
	now, err := e.entries.Ended(ctx)
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
