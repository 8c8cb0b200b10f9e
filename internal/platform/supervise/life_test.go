package supervise

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/health"
)

func TestBackoff(t *testing.T) {
	cases := map[string]struct {
		reason   string
		failures []int
		want     []time.Duration
	}{
		"Doubles": {"the first restart is immediate, then 1 s doubling", []int{0, 1, 2, 3, 4}, []time.Duration{0, 1e9, 2e9, 4e9, 8e9}},
		"Bounded": {"never more than a minute, and no overflow", []int{6, 7, 8, 1000}, []time.Duration{32e9, 60e9, 60e9, 60e9}},
	}
	conf, err := Config{Dir: "/x"}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []time.Duration
			for _, n := range tc.failures {
				got = append(got, conf.Timing.backoff(n))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBackoffOfCrashLoop looks at the status whenever it changes, so it sees every wait of a program that crashes four
// times.
func TestBackoffOfCrashLoop(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	var mu sync.Mutex
	var r *Supervisor
	waits := map[int]time.Duration{} // by restarts so far
	conf.Notify = func(id string) {
		mu.Lock()
		defer mu.Unlock()
		s, err := r.Status(context.Background(), id)
		if err != nil {
			return
		}
		if c, _ := s.Component("api"); c.State == health.Backoff {
			waits[c.Restarts] = c.NextStart.Sub(c.LastExit.At).Truncate(10 * time.Millisecond)
		}
	}
	mu.Lock()
	r = open(t, conf)
	mu.Unlock()
	w := server(t, r, "a", "-crash", "5", "-print", "boom")
	w.Components[0].Ports = nil
	apply(t, r, w)
	c := awaitState(t, r, "a", "api", health.Ready)
	if c.Restarts != 5 || c.LastExit.Code != 3 {
		t.Errorf("want 5 restarts after code 3, got %+v", c)
	}
	mu.Lock()
	defer mu.Unlock()
	for restarts, want := range map[int]time.Duration{1: 10e6, 2: 20e6, 3: 40e6, 4: 40e6} {
		// The reaper's clock and the keeper's are read one after the other.
		if got, ok := waits[restarts]; !ok || got < want {
			t.Errorf("after %d restarts: want a wait of %v, got %v (all: %v)", restarts, want, got, waits)
		}
	}
	if _, ok := waits[0]; ok {
		t.Errorf("the first restart must be immediate: %v", waits)
	}
}

func TestKilledComponent(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	notes := make(chan string, 1)
	conf.Notify = func(id string) {
		select {
		case notes <- id:
		default:
		}
	}
	r := open(t, conf)
	apply(t, r, server(t, r, "a", "-print", "hello"))
	before := awaitState(t, r, "a", "api", health.Ready)
	for len(notes) > 0 {
		<-notes
	}
	if err := unix.Kill(before.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if id := <-notes; id != "a" {
		t.Errorf("notified of %q", id)
	}
	c := untilRestarted(t, r, before)
	if c.Restarts != 1 || c.LastExit == nil || c.LastExit.Signal != "killed" || c.LastExit.Code != -1 || !strings.HasPrefix(c.LastExit.Log, "hello\n") {
		t.Errorf("want one restart after a kill, got %+v, %+v", c, c.LastExit)
	}
}

func TestStubbornProgramIsKilled(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	w := server(t, r, "a", "-ignore-term")
	w.Components[0].StopGrace = 300 * time.Millisecond
	apply(t, r, w)
	before := awaitState(t, r, "a", "api", health.Ready)
	w.Components[0].Args = append(w.Components[0].Args, "-print", "new")
	told := time.Now()
	apply(t, r, w)
	c := untilRestarted(t, r, before)
	if c.StartedAt.Sub(told) < 250*time.Millisecond { // start times are counted in ticks of 10 ms
		t.Errorf("killed before its grace was over: told %v, next start %v", told, c.StartedAt)
	}
}

func TestPoliteProgramIsNotKilled(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	w := server(t, r, "a")
	w.Components[0].StopGrace = 24 * time.Hour // so only SIGTERM can end it
	apply(t, r, w)
	c := awaitState(t, r, "a", "api", health.Ready)
	if err := r.Stop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if st, err := readStat(c.PID); err == nil && !st.dead() {
		t.Errorf("still running: %+v", st)
	}
	if again := server(t, r, "a"); again.Components[0].Probe.URL != w.Components[0].Probe.URL {
		t.Error("Stop must keep the ports")
	}
	apply(t, r, w)
	awaitState(t, r, "a", "api", health.Ready)
}

// TestRemoveInTwoCalls: the first gives up waiting, the second has less patience with the program.
func TestRemoveInTwoCalls(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	apply(t, r, server(t, r, "a", "-ignore-term"))
	awaitState(t, r, "a", "api", health.Ready)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if gone, err := r.Remove(ctx, "a", time.Hour); gone || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("want not gone and the cause, got %v, %v", gone, err)
	}
	awaitState(t, r, "a", "api", health.Stopping)
	if gone, err := r.Remove(t.Context(), "a", 0); !gone || err != nil {
		t.Fatalf("want gone, got %v, %v", gone, err)
	}
}

func TestRemoveTakesChildrenAlong(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	w := server(t, r, "a", "-child")
	apply(t, r, w)
	awaitState(t, r, "a", "api", health.Ready)
	place, err := r.Reserve(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(place.Dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if st, err := readStat(pid); err != nil || st.dead() {
		t.Fatalf("the child must run, or nothing is tested: %+v, %v", st, err)
	}
	if gone, err := r.Remove(t.Context(), "a", time.Minute); !gone || err != nil {
		t.Fatalf("want gone, got %v, %v", gone, err)
	}
	if st, err := readStat(pid); err == nil && !st.dead() {
		t.Errorf("the child lives: %+v", st)
	}
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	w := server(t, r, "a")
	place, err := r.Reserve(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := net.Listen("tcp", netip.AddrPortFrom(place.Addr, uint16(place.Port["api"])).String())
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	apply(t, r, w)
	c := awaitState(t, r, "a", "api", health.Backoff)
	if c.Reason != health.ReasonPortTaken || !strings.Contains(c.Message, strconv.Itoa(place.Port["api"])) || c.NextStart.IsZero() {
		t.Errorf("want PortTaken with the port, got %+v", c)
	}
	if err := foreign.Close(); err != nil {
		t.Fatal(err)
	}
	if c := awaitState(t, r, "a", "api", health.Ready); c.Restarts != 0 {
		t.Errorf("a start that was not possible is no restart: %+v", c)
	}
}

func TestMissingProgram(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	w := Workload{ID: "a", Components: []Component{{Name: "api", Path: "/nonexistent/api"}}}
	apply(t, r, w)
	c := awaitState(t, r, "a", "api", health.Backoff)
	if c.Reason != health.ReasonStartFailed || !strings.Contains(c.LastExit.Error, "/nonexistent/api") {
		t.Errorf("want StartFailed naming the program, got %+v, %+v", c, c.LastExit)
	}
	w.Components[0] = program("api")
	apply(t, r, w)
	awaitState(t, r, "a", "api", health.Ready)
}

func TestNotReadyIsReportedAndNotRestarted(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	w := server(t, r, "a", "-unready", "hold")
	next := program("next")
	next.After = []string{"api"}
	w.Components = append(w.Components, next)
	apply(t, r, w)
	dependent := awaitState(t, r, "a", "next", health.Ready)
	before := awaitState(t, r, "a", "api", health.Ready)
	place, err := r.Reserve(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	hold := filepath.Join(place.Dir, "hold")
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := awaitState(t, r, "a", "api", health.NotReady)
	if !strings.Contains(c.Message, "informer-sync failed") {
		t.Errorf("want the program's own words, got %q", c.Message)
	}
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	if c := awaitState(t, r, "a", "api", health.Ready); c.PID != before.PID {
		t.Errorf("want no restart: %+v, then %+v", before, c)
	}
	if c := awaitState(t, r, "a", "next", health.Ready); c.PID != dependent.PID {
		t.Errorf("want the dependent untouched: %+v, then %+v", dependent, c)
	}
}

func TestUse(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	apply(t, r, server(t, r, "a"))
	s := await(t, r, "a", func(s Status) bool {
		c, _ := s.Component("api")
		return c.Use.CPUSeconds > 0 && c.State == health.Ready // probing costs it something
	})
	c, _ := s.Component("api")
	if c.Use.AnonymousBytes < 100<<10 || c.Use.ResidentBytes <= c.Use.AnonymousBytes || c.Use.ResidentBytes > 4<<30 || c.Use.CPUSeconds > 600 {
		t.Errorf("implausible: %+v", c.Use)
	}
}

func TestLogsAreRotated(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	conf.Rotate.Limit = 16 << 10
	r := open(t, conf)
	apply(t, r, server(t, r, "a", "-flood", "64"))
	place, err := r.Reserve(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(place.Dir, "logs", "api.log")
	await(t, r, "a", func(Status) bool {
		now, err := os.Stat(log)
		if err != nil || now.Size() > conf.Rotate.Limit {
			return false
		}
		_, err = os.Stat(log + ".1")
		return err == nil
	})
}

func TestTwentyWorkloads(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	g, ctx := errgroup.WithContext(t.Context())
	ws := make([]Workload, 20)
	for i := range ws {
		ws[i] = server(t, r, fmt.Sprintf("w%d", i))
		next := program("next")
		next.After = []string{"api"}
		ws[i].Components = append(ws[i].Components, next)
		g.Go(func() error { return r.Apply(ctx, ws[i]) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, w := range ws {
		await(t, r, w.ID, Status.Ready)
	}
	g, ctx = errgroup.WithContext(t.Context())
	for _, w := range ws {
		g.Go(func() error {
			gone, err := r.Remove(ctx, w.ID, time.Minute)
			if err == nil && !gone {
				err = fmt.Errorf("%s is not gone", w.ID)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if ids, err := r.List(t.Context()); err != nil || len(ids) != 0 {
		t.Errorf("want nothing left, got %v, %v", ids, err)
	}
}
