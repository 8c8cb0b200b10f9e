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

	"github.com/prometheus/procfs"
)

// turns lets a few tests run side by side, the longest first: of tests in the order of chance the longest often begins last, and all
// processors but one wait for it.
type turns struct {
	mu      sync.Mutex
	changed sync.Cond
	slots   int // of tests that run whatever the processors do
	running int
	idle    bool // a processor has been idle since the last test began
	// pending are how long the tests take that have not begun, by name.
	pending map[string]time.Duration
}

// order is that of this run. As many tests as there are processors run at least. Tests wait for much of their time, and more begin while a
// processor is idle, but never more than twice as many: with more, whatever the processors did, each became slower, until what is bounded in
// time inside Kubernetes, such as probes, did not come about.
var order = newTurns(runtime.GOMAXPROCS(0))

func newTurns(slots int) *turns {
	s := &turns{slots: slots, pending: map[string]time.Duration{}}
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
	for !s.hasRoom() || !s.isNext(name) {
		s.changed.Wait()
	}
	s.running++
	s.idle = false
	delete(s.pending, name)
	s.changed.Broadcast()
}

func (s *turns) hasRoom() bool {
	return s.running < s.slots || s.idle && s.running < 2*s.slots
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
	s.running--
	s.changed.Broadcast()
}

// saw notes whether a processor was idle of late.
func (s *turns) saw(idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = idle
	s.changed.Broadcast()
}

const (
	// idleFor is long beside the pauses of a test that is busy, and as long as one takes that has begun to be seen in what processors do.
	idleFor = 15 * time.Second
	// idleShare is the time for which one of the processors was idle.
	idleShare = 0.7
)

// watchProcessors tells whether a processor is idle, as long as the tests run.
func (s *turns) watchProcessors() error {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return err
	}
	before, err := idleSeconds(fs)
	if err != nil {
		return err
	}
	go func() {
		for range time.Tick(idleFor) {
			now, err := idleSeconds(fs)
			s.saw(err == nil && now-before > idleShare*idleFor.Seconds())
			before = now
		}
	}()
	return nil
}

// idleSeconds is for how long processors were idle, all together.
func idleSeconds(fs procfs.FS) (float64, error) {
	stat, err := fs.Stat()
	return stat.CPUTotal.Idle + stat.CPUTotal.Iowait, err
}

// sideBySide leaves the choice of what runs at a time to turns, of as many tests as -parallel says where the user says it.
func sideBySide() error {
	said := flag.Lookup("test.parallel")
	if said.Value.String() != said.DefValue {
		slots, err := strconv.Atoi(said.Value.String())
		if err != nil {
			return err
		}
		order.slots = slots
	} else if err := order.watchProcessors(); err != nil {
		return err
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

// TestTurnsOfIdle: while a processor is idle another one begins, and one more only when it is seen to be idle again.
func TestTurnsOfIdle(t *testing.T) {
	s := newTurns(1)
	begun := func(idle bool, want bool) {
		t.Helper()
		s.saw(idle)
		if got := s.hasRoom(); got != want {
			t.Errorf("with %d running, and a processor idle: %t, another one begins: %t", s.running, idle, got)
		}
		if want {
			s.begin("")
		}
	}
	begun(false, true)
	begun(false, false)
	begun(true, true)
	if s.hasRoom() {
		t.Error("another one begins before it was seen what the last one does")
	}
	begun(true, false) // twice as many as there are slots run
	s.end()
	s.end()
	begun(false, true)
}
