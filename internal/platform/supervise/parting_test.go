package supervise

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/health"
)

// generation describes a workload of which another generation can take the place while it runs. Each has a port of its own for its
// probe.
func generation(t *testing.T, r *Supervisor, n int, within time.Duration, args ...string) Workload {
	t.Helper()
	port := fmt.Sprintf("health-%d", n)
	place, err := r.Reserve(t.Context(), "a", []string{port})
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.AddrPortFrom(place.Addr, uint16(place.Port[port])).String()
	c := program("api", append([]string{"-serve", addr, "-leave", "go"}, args...)...)
	c.Ports, c.Probe, c.HandsOver = []string{port}, &Probe{URL: "http://" + addr + "/readyz"}, within
	return Workload{ID: "a", Components: []Component{c}}
}

// asked is how many programs were asked to leave.
func asked(t *testing.T, conf Config) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(conf.Dir, "workloads", "a", "asked"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return bytes.Count(data, []byte("\n"))
}

// letGo has programs that were asked to leave end.
func letGo(t *testing.T, conf Config) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(conf.Dir, "workloads", "a", "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// alone waits until one process alone is left.
func alone(t *testing.T, r *Supervisor, pid int) {
	t.Helper()
	await(t, r, "a", func(Status) bool { return slices.Equal(leaders(t, r, "a"), []int{pid}) })
}

// TestHandsOver: the new one begins beside the old one, which is asked to leave when that is ready, and ends by itself.
func TestHandsOver(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	r := open(t, conf)
	apply(t, r, generation(t, r, 1, time.Hour))
	before := awaitState(t, r, "a", "api", health.Ready)
	apply(t, r, generation(t, r, 2, time.Hour))
	after := untilRestarted(t, r, before)
	if after.Restarts != 0 || after.Message == "" {
		t.Errorf("want a first start, and a word of process %d, got %+v", before.PID, after)
	}
	await(t, r, "a", func(Status) bool { return asked(t, conf) == 1 })
	both := []int{before.PID, after.PID}
	slices.Sort(both)
	if got := leaders(t, r, "a"); !slices.Equal(slices.Sorted(slices.Values(got)), both) {
		t.Errorf("running are %v, want %v", got, both)
	}
	letGo(t, conf)
	alone(t, r, after.PID)
	if c := awaitState(t, r, "a", "api", health.Ready); c.PID != after.PID || c.Restarts != 0 {
		t.Errorf("want %d untouched, got %+v", after.PID, c)
	}
}

// TestHandsOverToOneThatIsReady: one that does not become ready takes nothing from the one that serves, which a third one replaces.
func TestHandsOverToOneThatIsReady(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	r := open(t, conf)
	apply(t, r, generation(t, r, 1, time.Hour))
	before := awaitState(t, r, "a", "api", health.Ready)
	apply(t, r, generation(t, r, 2, time.Hour, "-exit", "7"))
	failing := awaitState(t, r, "a", "api", health.Backoff)
	if failing.LastExit == nil || failing.LastExit.Code != 7 {
		t.Errorf("want that the new one fails, got %+v", failing)
	}
	if got := leaders(t, r, "a"); !slices.Contains(got, before.PID) || asked(t, conf) > 0 {
		t.Errorf("running are %v, and %d were asked to leave; want %d to go on", got, asked(t, conf), before.PID)
	}
	apply(t, r, generation(t, r, 3, time.Hour))
	after := awaitState(t, r, "a", "api", health.Ready)
	letGo(t, conf)
	alone(t, r, after.PID)
}

// TestTakesNothingFromOneThatIsNotReady: a process that has never been ready ends before the one that takes its place begins, which would
// not get its port; the one that serves goes on meanwhile.
func TestTakesNothingFromOneThatIsNotReady(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	r := open(t, conf)
	apply(t, r, generation(t, r, 1, time.Hour, "-holds", "ready=yes"))
	first := awaitState(t, r, "a", "api", health.Starting)
	apply(t, r, generation(t, r, 2, time.Hour))
	second := awaitState(t, r, "a", "api", health.Ready)
	alone(t, r, second.PID)
	if second.PID == first.PID || second.Restarts > 0 || second.LastExit != nil || asked(t, conf) > 0 {
		t.Errorf("got %+v, and %d were asked to leave", second, asked(t, conf))
	}
	apply(t, r, generation(t, r, 3, time.Hour, "-holds", "ready=yes"))
	third := awaitState(t, r, "a", "api", health.Starting)
	apply(t, r, generation(t, r, 4, time.Hour))
	fourth := awaitState(t, r, "a", "api", health.Ready)
	want := []int{second.PID, fourth.PID}
	slices.Sort(want)
	await(t, r, "a", func(Status) bool { return slices.Equal(slices.Sorted(slices.Values(leaders(t, r, "a"))), want) })
	if slices.Contains(want, third.PID) || fourth.LastExit != nil {
		t.Errorf("got %+v after %d", fourth, third.PID)
	}
	letGo(t, conf)
	alone(t, r, fourth.PID)
}

// TestHandsOverAndBack: the one that serves stays what the component is when it is wanted again before another one was ready, which
// is not two of it, and the other one goes; so it does for a KQueen that has found both.
func TestHandsOverAndBack(t *testing.T) {
	for name, broken := range map[string][]string{"it fails": {"-exit", "7"}, "it never is ready": {"-holds", "ready=yes"}} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted %t", name, restarted), func(t *testing.T) {
				t.Parallel()
				conf := config(t.TempDir())
				r := open(t, conf)
				w := generation(t, r, 1, time.Hour)
				apply(t, r, w)
				before := awaitState(t, r, "a", "api", health.Ready)
				apply(t, r, generation(t, r, 2, time.Hour, broken...))
				await(t, r, "a", func(s Status) bool {
					c, _ := s.Component("api")
					return c.State == health.Backoff || c.State == health.Starting && c.PID != 0 && c.PID != before.PID
				})
				if restarted {
					if err := r.Close(); err != nil {
						t.Fatal(err)
					}
					r = open(t, conf)
				}
				apply(t, r, w)
				await(t, r, "a", func(s Status) bool {
					c, _ := s.Component("api")
					return c.State == health.Ready && c.PID == before.PID
				})
				alone(t, r, before.PID)
				if asked(t, conf) > 0 {
					t.Error("it was asked to leave")
				}
			})
		}
	}
}

// TestHandsOverAndBackAgain: one that has left already is another one when it is wanted again, beside what it left behind.
func TestHandsOverAndBackAgain(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	r := open(t, conf)
	w := generation(t, r, 1, time.Hour)
	apply(t, r, w)
	first := awaitState(t, r, "a", "api", health.Ready)
	apply(t, r, generation(t, r, 2, time.Hour))
	second := untilRestarted(t, r, first)
	await(t, r, "a", func(Status) bool { return asked(t, conf) == 1 })
	apply(t, r, w)
	third := untilRestarted(t, r, second)
	if third.PID == first.PID {
		t.Errorf("%d has left, and is what the component is", first.PID)
	}
	letGo(t, conf)
	alone(t, r, third.PID)
}

// TestOneThatHasLeftIsNotKept: a KQueen that finds, of the two, only the one that has left, and wants that, starts it anew.
func TestOneThatHasLeftIsNotKept(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir()) // on a busy host an answer may be late: none is for long
	conf.Timing.HangIdle, conf.Timing.HangBusy = 100*time.Millisecond, 100*time.Millisecond
	r := open(t, conf)
	w := generation(t, r, 1, time.Hour)
	apply(t, r, w)
	first := awaitState(t, r, "a", "api", health.Ready)
	apply(t, r, generation(t, r, 2, time.Hour))
	second := untilRestarted(t, r, first)
	await(t, r, "a", func(Status) bool { return asked(t, conf) == 1 })
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(second.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r = open(t, conf)
	apply(t, r, w)
	alone(t, r, untilRestarted(t, r, first).PID)
}

// TestOneThatHasLeftGoesOn: a KQueen that finds one that has left, and knows of one in its place that is not ready, lets it carry what it
// carries, however long that takes: it keeps no port.
func TestOneThatHasLeftGoesOn(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir()) // on a busy host an answer may be late: none is for long
	conf.Timing.HangIdle, conf.Timing.HangBusy = 100*time.Millisecond, 100*time.Millisecond
	r := open(t, conf)
	apply(t, r, generation(t, r, 1, time.Hour))
	first := awaitState(t, r, "a", "api", health.Ready)
	apply(t, r, generation(t, r, 2, time.Hour))
	second := untilRestarted(t, r, first)
	await(t, r, "a", func(Status) bool { return asked(t, conf) == 1 })
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(second.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r = open(t, conf)
	apply(t, r, generation(t, r, 3, time.Hour, "-exit", "7"))
	await(t, r, "a", func(s Status) bool {
		c, _ := s.Component("api")
		return c.Restarts > 20 // each after 40 ms
	})
	if got := leaders(t, r, "a"); !slices.Contains(got, first.PID) {
		t.Errorf("%d has left, and was ended; running are %v", first.PID, got)
	}
}

// TestHandsOverOfOneThatHangs: one that hangs keeps its port from none: it is ended, whichever KQueen has started it.
func TestHandsOverOfOneThatHangs(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted %t", restarted), func(t *testing.T) {
			t.Parallel()
			conf := hasty(t)
			r := open(t, conf)
			apply(t, r, generation(t, r, 1, time.Hour))
			before := awaitState(t, r, "a", "api", health.Ready)
			w := generation(t, r, 2, time.Hour, "-holds", "ready=yes")
			if restarted {
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
				r = open(t, conf)
			}
			apply(t, r, w)
			await(t, r, "a", func(s Status) bool {
				c, _ := s.Component("api")
				return c.PID != 0 && c.PID != before.PID
			})
			if err := unix.Kill(before.PID, unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			await(t, r, "a", func(s Status) bool {
				c, _ := s.Component("api")
				return c.PID != 0 && slices.Equal(leaders(t, r, "a"), []int{c.PID})
			})
			if asked(t, conf) > 0 {
				t.Error("it was asked to leave")
			}
		})
	}
}

// TestHandsOverAcrossARestart: a KQueen that finds both goes on with the new one, whichever of them was asked already.
func TestHandsOverAcrossARestart(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	r := open(t, conf)
	apply(t, r, generation(t, r, 1, time.Hour))
	before := awaitState(t, r, "a", "api", health.Ready)
	w := generation(t, r, 2, time.Hour)
	apply(t, r, w)
	after := untilRestarted(t, r, before)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = open(t, conf)
	if c := awaitState(t, r, "a", "api", StateAdopted); c.PID != after.PID {
		t.Errorf("adopted is %+v, want %d", c, after.PID)
	}
	apply(t, r, w)
	if c := awaitState(t, r, "a", "api", health.Ready); c.PID != after.PID || c.Restarts != 0 {
		t.Errorf("want %d untouched, got %+v", after.PID, c)
	}
	letGo(t, conf)
	alone(t, r, after.PID)
}

// TestHandsOverInTime: what does not leave in time is ended, and so is all when the workload is stopped.
func TestHandsOverInTime(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	r := open(t, conf)
	apply(t, r, generation(t, r, 1, 50*time.Millisecond))
	before := awaitState(t, r, "a", "api", health.Ready)
	apply(t, r, generation(t, r, 2, time.Hour))
	after := untilRestarted(t, r, before)
	alone(t, r, after.PID)
	apply(t, r, generation(t, r, 3, time.Hour))
	untilRestarted(t, r, after)
	if err := r.Stop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if got := leaders(t, r, "a"); len(got) > 0 {
		t.Errorf("%v run on", got)
	}
}

// TestHandsNothingOver: where one was started without, or wants a port that the other one keeps, that goes before it comes, as ever.
func TestHandsNothingOver(t *testing.T) {
	for name, tc := range map[string]struct {
		within time.Duration // of the first one
		n      int           // of the second one
		hands  string        // by the second one
	}{
		"started without":         {within: 0, n: 2},
		"listens elsewhere":       {within: time.Hour, n: 2, hands: "0.0.0.0:6443"},
		"answers its probe there": {within: time.Hour, n: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := config(t.TempDir())
			r := open(t, conf)
			apply(t, r, generation(t, r, 1, tc.within))
			before := awaitState(t, r, "a", "api", health.Ready)
			w := generation(t, r, tc.n, time.Hour, "-print", "the second one")
			w.Components[0].Hands = tc.hands
			apply(t, r, w)
			alone(t, r, untilRestarted(t, r, before).PID)
			if asked(t, conf) > 0 {
				t.Error("it was asked to leave, and not told to end")
			}
		})
	}
}

func TestHandedOver(t *testing.T) {
	of := func(pid int, spec string, leaves time.Duration) found {
		return found{marks: marks{spec: spec, handing: handing{leaves: leaves}}, pid: pid}
	}
	pids := func(all []found) (out []int) {
		for _, f := range all {
			out = append(out, f.pid)
		}
		return out
	}
	for name, tc := range map[string]struct {
		all            []found
		is             int
		before, second []int
	}{
		"one alone":              {[]found{of(1, "a", 0)}, 1, nil, nil},
		"two of one by a fault":  {[]found{of(1, "a", time.Hour), of(2, "a", time.Hour)}, 1, nil, []int{2}},
		"none that hands over":   {[]found{of(1, "a", 0), of(2, "b", time.Hour)}, 1, nil, []int{2}},
		"one took its place":     {[]found{of(1, "a", time.Hour), of(2, "b", time.Hour)}, 2, []int{1}, nil},
		"and another one theirs": {[]found{of(1, "a", time.Hour), of(2, "b", time.Hour), of(3, "c", 0)}, 3, []int{1, 2}, nil},
		"and a fault":            {[]found{of(1, "a", time.Hour), of(2, "b", 0), of(3, "b", 0)}, 2, []int{1}, []int{3}},
	} {
		is, before, second := handedOver(tc.all)
		if is.pid != tc.is || !cmp.Equal(pids(before), tc.before) || !cmp.Equal(pids(second), tc.second) {
			t.Errorf("%s: %d, %v, %v; want %d, %v, %v", name, is.pid, pids(before), pids(second), tc.is, tc.before, tc.second)
		}
	}
}
