package collector

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/platform/text"
)

// state is how well a cluster is watched. It is safe for concurrent use.
type state struct {
	mu               sync.Mutex
	awaited          map[string]bool   // resources that were not listed yet
	troubles         map[string]string // by resource: what has to be right for the cluster to be live
	skipped          map[string]string // by resource: what is left out
	probedAt, toldAt time.Time
	reached          bool
	reach            chan struct{} // closed while the API server answers
}

// version is what is asked for to see whether an API server answers.
const version = "version"

// standing is a state at one moment. at is until when the cluster is known to be as the store has it.
type standing struct {
	live    bool
	message string
	at      time.Time
}

func newState(kinds []*resourceKind) *state {
	s := &state{awaited: map[string]bool{}, troubles: map[string]string{}, skipped: map[string]string{}, reach: make(chan struct{})}
	for _, r := range kinds {
		s.awaited[r.name] = true
	}
	return s
}

// trouble notes why something cannot be watched.
func (s *state) trouble(what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.troubles[what] = listing.Reason(err)
	if what == version && s.reached {
		s.reached, s.reach = false, make(chan struct{})
	}
}

// skip notes that something is left out, and why.
func (s *state) skip(what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.awaited, what)
	delete(s.troubles, what)
	if errors.Is(err, listing.ErrAbsent) {
		delete(s.skipped, what) // there is none: nothing is missing
		return
	}
	s.skipped[what] = listing.Reason(err)
}

// clear notes that something is watched.
func (s *state) clear(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.awaited, what)
	delete(s.troubles, what)
	delete(s.skipped, what)
}

// suspect says whether the cluster has trouble.
func (s *state) suspect() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.troubles) > 0
}

// reachable is closed while the API server answers.
func (s *state) reachable() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reach
}

// proved notes that the API server has answered what was asked at a time.
func (s *state) proved(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.troubles, version)
	s.probedAt = at
	if !s.reached {
		s.reached = true
		close(s.reach)
	}
}

// flushed notes that the store has all that was observed before a time.
func (s *state) flushed(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.toldAt = at
}

// now returns the standing. The message of a cluster that is live names what is left out.
func (s *state) now() standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.troubles) > 0 {
		return standing{message: said("", s.troubles)}
	}
	at := s.probedAt
	if s.toldAt.Before(at) {
		at = s.toldAt
	}
	if len(s.awaited) > 0 || at.IsZero() {
		return standing{}
	}
	return standing{live: true, message: said("not observed: ", s.skipped), at: at}
}

// said puts reasons into one line, those that several things share once.
func said(begin string, reasons map[string]string) string {
	if len(reasons) == 0 {
		return ""
	}
	whose := map[string][]string{}
	for what, why := range reasons {
		whose[why] = append(whose[why], what)
	}
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(whose)) {
		slices.Sort(whose[why])
		parts = append(parts, strings.Join(whose[why], ", ")+": "+why)
	}
	return text.Cut(text.Line(begin+strings.Join(parts, "; ")), 2*maxMessage)
}

// turns bound how many pages are read at once over all clusters, and so the memory that they take. A cluster has one at a time, and none
// while its API server does not answer at all. Clusters that have trouble share turns of their own, and take none from the others.
type turns struct{ sound, suspect chan struct{} }

func newTurns(n int) *turns {
	return &turns{sound: make(chan struct{}, n), suspect: make(chan struct{}, n)}
}

// take waits for a turn and returns what ends it.
func (t *turns) take(ctx context.Context, suspect bool) (func(), error) {
	of := t.sound
	if suspect {
		of = t.suspect
	}
	select {
	case of <- struct{}{}:
		return func() { <-of }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
