package supervise

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/health"
)

// backgrounds supervises workload "a", workload "management" and workload "other", and is told when KQueen is in the background.
func backgrounds(t *testing.T) (r *Supervisor, conf Config, self *atomic.Bool) {
	t.Helper()
	self = &atomic.Bool{}
	conf = config(t.TempDir())
	conf.putSelf = func(so bool) error { self.Store(so); return nil }
	conf.starves = func(_, _ seen) bool { return false }
	conf.Timing.Balance = 10 * time.Millisecond
	r = open(t, conf)
	described(t, r)
	for _, id := range []string{"a", "management", "other"} {
		awaitState(t, r, id, "api", health.Ready)
	}
	if idleOf(r, "a") == "" {
		t.Skip("Linux has cpu.idle since 5.15, and this one has none")
	}
	return r, conf, self
}

func described(t *testing.T, r *Supervisor) {
	t.Helper()
	for _, id := range []string{"a", "management", "other"} {
		w := confinedServer(t, r, id)
		w.Limits.GivesWay, w.Management = id == "a", id == "management"
		apply(t, r, w)
	}
}

// where says of each workload whether its programs are in the background.
func where(t *testing.T, r *Supervisor) map[string]bool {
	t.Helper()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	is := map[string]bool{}
	for _, id := range []string{"a", "management", "other"} {
		pids, fewer := leaders(t, r, id), 0
		for _, pid := range pids {
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(pid, &set); err == nil && set.Count() < all.Count() {
				fewer++
			}
		}
		idle := idleOf(r, id) == "1"
		if is[id] = idle; all.Count() > 1 && idle != (fewer > 0 && fewer == len(pids)) {
			is[id+", in part"] = true
		}
	}
	return is
}

// awaitWhere waits until that is so.
func awaitWhere(t *testing.T, r *Supervisor, a, management bool) {
	t.Helper()
	want := map[string]bool{"a": a, "management": management, "other": false}
	got := where(t, r)
	for end := time.Now().Add(time.Minute); !cmp.Equal(want, got); got = where(t, r) {
		if time.Now().After(end) {
			t.Fatalf("in the background (-want +got):\n%s", cmp.Diff(want, got))
		}
		<-time.After(5 * time.Millisecond)
	}
}

// TestBackground: what is asked for is in the background with what it takes to do it, a program included that is started meanwhile, and comes
// back when that is said, and by itself.
func TestBackground(t *testing.T) {
	t.Parallel()
	r, _, self := backgrounds(t)
	r.Background("a", time.Hour)
	awaitWhere(t, r, true, true)
	if !self.Load() {
		t.Error("KQueen itself is not in the background")
	}
	before := awaitState(t, r, "a", "api", health.Ready)
	if err := unix.Kill(before.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// It runs, and need not become ready, for which a busy host leaves it too little.
	await(t, r, "a", func(s Status) bool { c, _ := s.Component("api"); return c.PID != 0 && c.PID != before.PID })
	awaitWhere(t, r, true, true)
	described(t, r) // as its reconciler does again and again
	awaitWhere(t, r, true, true)

	r.Background("a", 0)
	awaitWhere(t, r, false, false)
	if limits := limitsOf(t, awaitState(t, r, "a", "api", health.Ready).PID); limits["cpu.shares"] != "512" && limits["cpu.weight"] != "50" {
		t.Errorf("its share is %v", limits)
	}
	r.Background("a", 500*time.Millisecond)
	awaitWhere(t, r, true, true)
	awaitWhere(t, r, false, false)
	if self.Load() {
		t.Error("KQueen itself is in the background")
	}
}

// TestBackgroundStarves: what others leave nothing is taken back, and put there again later.
func TestBackgroundStarves(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before := seen{began, hostTime{1000, 500}, 100}
	for name, c := range map[string]struct {
		before, now seen
		want        bool
	}{
		"Little":              {before, seen{began.Add(time.Second), hostTime{1200, 500}, 110}, true},
		"Enough":              {before, seen{began.Add(time.Second), hostTime{1200, 500}, 125}, false},
		"NothingElseIsWanted": {before, seen{began.Add(time.Second), hostTime{1200, 550}, 100}, false},
		"OneHasEnded":         {before, seen{began.Add(time.Second), hostTime{1200, 500}, 50}, false},
		"TheFirstLook":        {seen{}, before, false},
	} {
		if got := c.before.starves(c.now); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
	b := background{until: map[string]time.Time{"a": began.Add(time.Hour)}, not: began.Add(backAgain)}
	if got := b.wanted(began.Add(backAgain - 1)); len(got) != 0 {
		t.Errorf("in the background: %v", got)
	}
	if diff := cmp.Diff(map[string]bool{"a": true}, b.wanted(began.Add(backAgain))); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
	if got := b.wanted(began.Add(time.Hour)); len(got) != 0 {
		t.Errorf("after its time: %v", got)
	}
}

// TestBackgroundEndsWithKQueen: the next supervisor takes back what one has left there that was killed.
func TestBackgroundEndsWithKQueen(t *testing.T) {
	t.Parallel()
	r, conf, _ := backgrounds(t)
	r.Background("a", time.Hour)
	awaitWhere(t, r, true, true)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	awaitWhere(t, r, false, false)
	for _, id := range []string{"a", "management"} { // as if it had been killed
		for _, pid := range leaders(t, r, id) {
			if err := r.background.how.Put(pid, true); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.group(id).PutBehind(true, confine.Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	awaitWhere(t, r, true, true)
	next := open(t, conf)
	described(t, next)
	awaitWhere(t, next, false, false)
	if unsettled := await(t, next, "management", Status.Ready).Confinement; unsettled != ConfinementComplete {
		t.Error(unsettled)
	}
}
