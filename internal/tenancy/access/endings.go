package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// endingsInterval is the time between two looks at what has ended. Another replica may have ended it, which tells no one.
const endingsInterval = 2 * time.Second

// Endings knows, for each audience, which sessions and tokens have ended with which a user entered its cluster.
type Endings struct {
	entries *Entries
	file    string
	// changed is told each audience for which that is not what it was.
	changed func(audience string)
	log     *slog.Logger
	ids     atomic.Pointer[map[string][]string] // by audience
	written bool                                // file says the same as ids; of the goroutine that looks
}

// NewEndings looks once, so that no cluster is told less than is known, and again as long as Start runs. Where the database
// cannot be asked it takes what was written to file when it last could: without that, clusters would be told that what has
// ended is good again. changed must not block.
func NewEndings(ctx context.Context, entries *Entries, file string, changed func(audience string), log *slog.Logger) (*Endings, error) {
	e := &Endings{entries: entries, file: file, changed: changed, log: log}
	_, err := e.look(ctx)
	if err == nil {
		return e, nil
	}
	if e.ids.Load() != nil { // what has ended is known, and is not in the file yet
		log.Error("note which credentials for clusters have ended; it is tried again", "error", err)
		return e, nil
	}
	known, failed := recall(file)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	log.Error("which credentials for clusters have ended is taken from a file", "file", file, "error", err)
	e.ids.Store(&known)
	return e, nil
}

// recall reads what look has written.
func recall(file string) (map[string][]string, error) {
	data, err := os.ReadFile(file)
	var known map[string][]string
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err == nil && known == nil { // "null" is JSON
		err = fmt.Errorf("%s says nothing", file)
	}
	if err != nil {
		return nil, fmt.Errorf("read which credentials for clusters have ended: %w", err)
	}
	return known, nil
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
	before := e.ids.Swap(&now)
	if before != nil {
		changed = differing(*before, now)
	}
	if !e.written || len(changed) > 0 {
		err = e.write(now)
		e.written = err == nil
	}
	return changed, err
}

func (e *Endings) write(known map[string][]string) error {
	data, err := json.Marshal(known)
	if err != nil {
		return fmt.Errorf("write which credentials for clusters have ended: %w", err)
	}
	return atomicfile.Keep(e.file, data, 0o600)
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
