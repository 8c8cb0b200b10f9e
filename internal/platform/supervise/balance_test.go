package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/health"
)

// TestBehindOthers: a workload that uses much, and more than the others, is behind them, and comes back when it uses little, or less than they.
func TestBehindOthers(t *testing.T) {
	type uses = map[string]float64
	for name, c := range map[string]struct {
		uses uses
		was  string
		want string
	}{
		"Nothing":          {nil, "a", ""},
		"Heavy":            {uses{"a": 0.6, "b": 0.1}, "", "a"},
		"AllAlike":         {uses{"a": 0.6, "b": 0.6, "c": 0.5}, "", ""},
		"AllLight":         {uses{"a": 0.2, "b": 0.01}, "", ""},
		"TwoHeavy":         {uses{"a": 0.5, "b": 0.5, "c": 0.1}, "", "a b"},
		"BesideManyIdle":   {uses{"a": 0.4, "b": 0.01, "c": 0.01, "d": 0.02}, "", "a"},
		"StaysBehind":      {uses{"a": 0.2, "b": 0.1}, "a", "a"},
		"IsLeftLittle":     {uses{"a": 0.1, "b": 0.05}, "a", ""},
		"UsesLessThanMean": {uses{"a": 0.4, "b": 0.5}, "a", ""},
		"TheOtherNow":      {uses{"a": 0.2, "b": 0.9}, "a", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			behind := behindOthers(c.uses, map[string]bool{c.was: true})
			for _, id := range []string{"a", "b", "c", "d"} {
				if behind[id] {
					got = append(got, id)
				}
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestStarts: a program that starts is not put behind others, for a bounded time.
func TestStarts(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		state health.State
		after time.Duration
		want  bool
	}{
		"AStart":       {health.Starting, 0, true},
		"ALongStart":   {health.Starting, longStart - 1, true},
		"AnEndlessOne": {health.Starting, longStart, false},
		"IsReady":      {health.Ready, time.Second, false},
		"IsNotStarted": {health.Waiting, time.Second, false},
	} {
		status := ComponentStatus{Component: health.Component{State: c.state, StartedAt: began}}
		if got := starts(status, began.Add(c.after)); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

func TestHostTime(t *testing.T) {
	const stat = "cpu  170 10 50 900 40 0 0 0 5 5\ncpu0 100 10 50 800 40 0 0 0 5 5\ncpu1 70 0 0 100 0 0 0 0 0 0\nintr 1 2 3 4 5 6 7 8 9\n"
	first := func(processor int) bool { return processor == 0 }
	before, err := parseHostTime(stat, first)
	if err != nil || before != (hostTime{1000, 840}) {
		t.Fatalf("got %+v, %v", before, err)
	}
	for line, want := range map[string]float64{
		"cpu0 160 10 50 820 60 0 0 0 5 5":  0.6,
		"cpu0 100 10 50 900 40 0 0 0 5 5":  0,
		"cpu0 100 10 50 800 40 0 0 0 5 5":  0, // no time has passed
		"cpu0 1 1 1 1 1 1 1 1 1 1":         0, // another host's
		"cpu0 200 10 50 790 40 0 10 0 5 5": 0, // as the idle time of some kernels does
	} {
		now, err := parseHostTime(line, first)
		if got := now.busy(before); err != nil || got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s: busy for %v, %v, want %v", line, got, err, want)
		}
	}
	if got := before.busy(hostTime{}); got != 0 {
		t.Errorf("a first look says %v", got)
	}
	if all, err := parseHostTime(stat, allProcessors); err != nil || all != (hostTime{1170, 940}) {
		t.Errorf("all processors: got %+v, %v", all, err)
	}
	for _, line := range []string{"", "cpu", "intr 1 2 3 4 5 6 7 8 9", "cpu0 1 2 3 4 5 6 7 x", "cpu 1 2 3 4 5 6 7 8", "cpu1 1 2 3 4 5 6 7 8"} {
		if got, err := parseHostTime(line, first); err == nil {
			t.Errorf("%q is read as %v", line, got)
		}
	}
}

// idleOf is the cpu.idle of a workload; empty where there is none.
func idleOf(r *Supervisor, id string) string {
	for _, at := range []string{"cpu", ""} { // version 1, version 2
		if data, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", at, "kqueen-"+r.instance[:12]+"-"+id, "cpu.idle")); err == nil {
			return strings.TrimSpace(string(data))
		}
	}
	return ""
}

// TestGivesWay: a workload that takes a processor is behind one that takes none, and comes back. Its limits stay what they are.
func TestGivesWay(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	conf.Busy, conf.Timing.Balance = 0.001, time.Hour // the test looks: another look may take back a workload to which a busy host leaves little
	r, looks := open(t, conf), &looks{}
	toil := filepath.Join(r.Dir("a"), "toil")
	var toils Workload
	for _, id := range []string{"a", "b"} {
		w := confinedServer(t, r, id)
		if id == "a" {
			w = confinedServer(t, r, id, "-hang", "toil", "-toil")
		}
		w.Limits.GivesWay = true
		apply(t, r, w)
		if id == "a" {
			toils = w
		}
	}
	awaitState(t, r, "b", "api", health.Ready)
	if s := await(t, r, "a", Status.Ready); s.Confinement != ConfinementComplete {
		incomplete(t, s.Confinement)
	}
	idle := func(id string) string { return idleOf(r, id) }
	if idle("a") == "" {
		t.Skip("this kernel cannot put programs behind others")
	}
	if err := os.WriteFile(toil, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	await(t, r, "b", func(Status) bool { r.rebalance(looks); return idle("a") == "1" })
	if got := idle("b"); got != "0" {
		t.Errorf("the workload that does nothing: cpu.idle is %s", got)
	}
	// Its reconciler describes it again and again, and it stays where it is.
	for range 20 {
		apply(t, r, toils)
		for range 20 {
			if got := idle("a"); got != "1" {
				t.Fatalf("cpu.idle is %s after it was described again", got)
			}
			<-time.After(time.Millisecond)
		}
	}
	if err := os.Remove(toil); err != nil {
		t.Fatal(err)
	}
	s := await(t, r, "a", func(s Status) bool { r.rebalance(looks); return s.Ready() && idle("a") == "0" })
	limits := limitsOf(t, s.Components[0].PID)
	if limits["cpu.shares"] != "512" && limits["cpu.weight"] != "50" {
		t.Errorf("its share is %v", limits)
	}
}
