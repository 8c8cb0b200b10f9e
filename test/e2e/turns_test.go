//go:build linux

package e2e

import (
	"flag"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// turns lets a few tests run side by side, the longest first: of tests in the order of chance the longest often begins last, and all
// processors but one wait for it.
type turns struct {
	mu      sync.Mutex
	changed sync.Cond
	free    int
	// pending are how long the tests take that have not begun, by name.
	pending map[string]time.Duration
}

// order is that of this run. As many tests as there are processors keep these busy: more made each of them slower, until what is
// bounded in time inside Kubernetes, such as probes, did not come about.
var order = newTurns(runtime.GOMAXPROCS(0))

func newTurns(slots int) *turns {
	s := &turns{free: slots, pending: map[string]time.Duration{}}
	s.changed.L = &s.mu
	return s
}

// parallel is t.Parallel, after which the test begins when it is its turn. lasts is about how long it takes on two processors; only
// the order of these times counts.
func parallel(t *testing.T, lasts time.Duration) {
	t.Helper()
	// "go test" goes through all tests before the first of those begins that are parallel, so that all are known then.
	order.expect(t.Name(), lasts)
	t.Parallel()
	order.begin(t.Name())
	t.Cleanup(order.end)
}

func (s *turns) expect(name string, lasts time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[name] = lasts
}

// begin waits until there is room and no longer test waits for some.
func (s *turns) begin(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.free == 0 || !s.isNext(name) {
		s.changed.Wait()
	}
	s.free--
	delete(s.pending, name)
	s.changed.Broadcast()
}

// isNext says whether no pending test comes before that of a name.
func (s *turns) isNext(name string) bool {
	mine := s.pending[name]
	for other, lasts := range s.pending {
		if lasts > mine || lasts == mine && other < name {
			return false
		}
	}
	return true
}

func (s *turns) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.changed.Broadcast()
}

// sideBySide leaves the choice of what runs at a time to turns, of as many tests as -parallel says where the user says it.
func sideBySide() error {
	said := flag.Lookup("test.parallel")
	if said.Value.String() != said.DefValue {
		slots, err := strconv.Atoi(said.Value.String())
		if err != nil {
			return err
		}
		order.free = slots
	}
	const all = 1000
	return said.Value.Set(strconv.Itoa(all))
}

// TestTurns: the longest begins first, and each when the one before has ended.
func TestTurns(t *testing.T) {
	s := newTurns(1)
	lasts := map[string]time.Duration{"a": 1, "b": 3, "c": 2, "d": 3, "e": 5}
	for name, d := range lasts {
		s.expect(name, d)
	}
	var began []string
	var done sync.WaitGroup
	for name := range lasts {
		done.Go(func() {
			s.begin(name)
			began = append(began, name) // only one runs
			s.end()
		})
	}
	done.Wait()
	if got := strings.Join(began, ""); got != "ebdca" {
		t.Errorf("began in the order %s", got)
	}
}
