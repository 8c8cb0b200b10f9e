package runnertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/internal/hosting/runner"
)

// Run checks what every runner promises. make returns a runner without
// workloads, and cleans up after the test.
func Run(t *testing.T, make func(t *testing.T) runner.Runner) {
	tests := map[string]func(t *testing.T, r runner.Runner){
		"ReserveIsStable":            reserveIsStable,
		"ReserveIsDisjoint":          reserveIsDisjoint,
		"ApplyRunsUntilReady":        applyRunsUntilReady,
		"ApplyIsIdempotent":          applyIsIdempotent,
		"NewArgumentsRestart":        newArgumentsRestart,
		"RestartOnFileRestarts":      restartOnFileRestarts,
		"OtherFileDoesNotRestart":    otherFileDoesNotRestart,
		"UnlistedComponentIsStopped": unlistedComponentIsStopped,
		"AfterWaitsForReady":         afterWaitsForReady,
		"EndedComponentIsRestarted":  endedComponentIsRestarted,
		"BadDescriptionIsRefused":    badDescriptionIsRefused,
		"RemoveLeavesNothing":        removeLeavesNothing,
		"UnknownWorkload":            unknownWorkload,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, make(t))
		})
	}
}

// Await polls the status of id until ok says yes. It fails the test, showing
// the last status, after a generous minute.
func Await(t *testing.T, r runner.Runner, id string, ok func(runner.Status) bool) runner.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := r.Status(ctx, id)
		if err == nil && ok(s) {
			return s
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain; last status of %s: %+v, %v", id, s, err)
		}
	}
}

// AwaitState waits until the component is in the state, and returns its status.
func AwaitState(t *testing.T, r runner.Runner, id, component string, want runner.State) runner.ComponentStatus {
	t.Helper()
	s := Await(t, r, id, func(s runner.Status) bool {
		c, ok := s.Component(component)
		return ok && c.State == want
	})
	c, _ := s.Component(component)
	return c
}

// Server describes a workload with one component "api" that serves readiness on
// its reserved port.
func Server(t *testing.T, r runner.Runner, id string, args ...string) runner.Workload {
	t.Helper()
	place, err := r.Reserve(t.Context(), id, []string{"api"})
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.AddrPortFrom(place.Addr, uint16(place.Port["api"])).String()
	c := Component("api", append([]string{"-serve", addr}, args...)...)
	c.Ports = []string{"api"}
	c.Probe = &runner.Probe{URL: "http://" + addr + "/readyz"}
	return runner.Workload{ID: id, Components: []runner.Component{c}}
}

// Apply applies or fails the test.
func Apply(t *testing.T, r runner.Runner, w runner.Workload) {
	t.Helper()
	if err := r.Apply(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

func reserveIsStable(t *testing.T, r runner.Runner) {
	first, err := r.Reserve(t.Context(), "a", []string{"api", "etcd"})
	if err != nil {
		t.Fatal(err)
	}
	if first.Port["api"] == first.Port["etcd"] || first.Port["api"] == 0 || first.Port["etcd"] == 0 {
		t.Errorf("want two ports, got %v", first.Port)
	}
	again, err := r.Reserve(t.Context(), "a", []string{"etcd", "api"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("second call (-first +second):\n%s", diff)
	}
	more, err := r.Reserve(t.Context(), "a", []string{"metrics"})
	if err != nil {
		t.Fatal(err)
	}
	if len(more.Port) != 3 || more.Port["api"] != first.Port["api"] {
		t.Errorf("a new name must keep the old ones %v, got %v", first.Port, more.Port)
	}
	info, err := os.Stat(first.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("directory mode: want 0700, got %v", info.Mode())
	}
}

func reserveIsDisjoint(t *testing.T, r runner.Runner) {
	const n = 50
	places := make([]runner.Place, n)
	g, ctx := errgroup.WithContext(t.Context())
	for i := range n {
		g.Go(func() (err error) {
			places[i], err = r.Reserve(ctx, fmt.Sprintf("w%d", i), []string{"api", "etcd"})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	owner := map[int]int{}
	for i, p := range places {
		for name, port := range p.Port {
			if other, ok := owner[port]; ok {
				t.Errorf("port %d (%s of w%d) also belongs to w%d", port, name, i, other)
			}
			owner[port] = i
		}
	}
	if len(owner) != 2*n {
		t.Errorf("want %d ports, got %d", 2*n, len(owner))
	}
}

func applyRunsUntilReady(t *testing.T, r runner.Runner) {
	w := Server(t, r, "a", "-delay", "200ms")
	Apply(t, r, w)
	AwaitState(t, r, "a", "api", runner.StateStarting)
	c := AwaitState(t, r, "a", "api", runner.StateReady)
	if c.Restarts != 0 || c.LastExit != nil || c.StartedAt.IsZero() {
		t.Errorf("want a first, untroubled start, got %+v", c)
	}
	s, err := r.Status(t.Context(), "a")
	if err != nil || !s.Ready() {
		t.Errorf("want ready, got %+v, %v", s, err)
	}
}

func applyIsIdempotent(t *testing.T, r runner.Runner) {
	w := Server(t, r, "a")
	w.Files = map[string]runner.File{"pki/key": {Data: []byte("secret")}, "conf": {Data: []byte("x"), Mode: 0o644}}
	w.Components[0].RestartOn = []string{"pki/key"}
	Apply(t, r, w)
	before := AwaitState(t, r, "a", "api", runner.StateReady)
	for range 3 {
		Apply(t, r, w)
	}
	// A component that waits for "api" becomes ready only when the runner is
	// content with "api" as it was ordered last.
	w.Components = append(w.Components, Component("other"))
	w.Components[1].After = []string{"api"}
	Apply(t, r, w)
	AwaitState(t, r, "a", "other", runner.StateReady)
	sameProcess(t, r, before)
	place, err := r.Reserve(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{"pki/key": 0o600, "conf": 0o644} {
		info, err := os.Stat(filepath.Join(place.Dir, name))
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: want mode %v, got %v, %v", name, mode, info, err)
		}
	}
}

// sameProcess fails unless workload "a" has the very process of before.
func sameProcess(t *testing.T, r runner.Runner, before runner.ComponentStatus) {
	t.Helper()
	after := AwaitState(t, r, "a", before.Name, runner.StateReady)
	if before.PID != after.PID || !before.StartedAt.Equal(after.StartedAt) || after.Restarts != before.Restarts {
		t.Errorf("want the same process\nbefore %+v\nafter  %+v", before, after)
	}
}

func newArgumentsRestart(t *testing.T, r runner.Runner) {
	w := Server(t, r, "a")
	Apply(t, r, w)
	before := AwaitState(t, r, "a", "api", runner.StateReady)
	w.Components[0].Args = append(w.Components[0].Args, "-print", "new")
	Apply(t, r, w)
	after := restarted(t, r, before)
	if after.Restarts != 0 || after.LastExit != nil {
		t.Errorf("a wanted restart is no failure, got %+v", after)
	}
}

func restarted(t *testing.T, r runner.Runner, before runner.ComponentStatus) runner.ComponentStatus {
	t.Helper()
	s := Await(t, r, "a", func(s runner.Status) bool {
		c, ok := s.Component(before.Name)
		return ok && c.State == runner.StateReady && c.PID != before.PID
	})
	c, _ := s.Component(before.Name)
	return c
}

func restartOnFileRestarts(t *testing.T, r runner.Runner) {
	w := Server(t, r, "a")
	w.Files = map[string]runner.File{"conf": {Data: []byte("1")}}
	w.Components[0].RestartOn = []string{"conf"}
	Apply(t, r, w)
	before := AwaitState(t, r, "a", "api", runner.StateReady)
	w.Files["conf"] = runner.File{Data: []byte("2")}
	Apply(t, r, w)
	restarted(t, r, before)
}

func otherFileDoesNotRestart(t *testing.T, r runner.Runner) {
	w := Server(t, r, "a")
	w.Files = map[string]runner.File{"conf": {Data: []byte("1")}, "token": {Data: []byte("1")}}
	w.Components[0].RestartOn = []string{"conf"}
	Apply(t, r, w)
	before := AwaitState(t, r, "a", "api", runner.StateReady)
	w.Files["token"] = runner.File{Data: []byte("2")}
	w.Components = append(w.Components, Component("other"))
	w.Components[1].After = []string{"api"}
	Apply(t, r, w)
	AwaitState(t, r, "a", "other", runner.StateReady)
	sameProcess(t, r, before)
	place, err := r.Reserve(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(place.Dir, "token"))
	if err != nil || string(got) != "2" {
		t.Errorf("the file must be new: got %q, %v", got, err)
	}
}

func unlistedComponentIsStopped(t *testing.T, r runner.Runner) {
	w := Server(t, r, "a")
	w.Components = append(w.Components, Component("other"))
	Apply(t, r, w)
	before := AwaitState(t, r, "a", "api", runner.StateReady)
	AwaitState(t, r, "a", "other", runner.StateReady)
	w.Components = w.Components[:1]
	Apply(t, r, w)
	Await(t, r, "a", func(s runner.Status) bool { return len(s.Components) == 1 })
	sameProcess(t, r, before)
}

func afterWaitsForReady(t *testing.T, r runner.Runner) {
	w := Server(t, r, "a", "-unready", "hold")
	w.Files = map[string]runner.File{"hold": {}}
	next := Component("next")
	next.After = []string{"api"}
	w.Components = append(w.Components, next)
	Apply(t, r, w)
	// The server answers, but is not ready: only then the waiting is tested.
	Await(t, r, "a", func(s runner.Status) bool {
		c, _ := s.Component("api")
		return c.State == runner.StateStarting && c.Message != ""
	})
	if c := AwaitState(t, r, "a", "next", runner.StateWaiting); c.PID != 0 {
		t.Errorf("want no process while waiting, got %+v", c)
	}
	place, err := r.Reserve(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(place.Dir, "hold")); err != nil {
		t.Fatal(err)
	}
	AwaitState(t, r, "a", "next", runner.StateReady)
}

func endedComponentIsRestarted(t *testing.T, r runner.Runner) {
	w := Server(t, r, "a", "-print", "about to crash", "-crash", "1")
	Apply(t, r, w)
	c := AwaitState(t, r, "a", "api", runner.StateReady)
	if c.Restarts != 1 || c.LastExit == nil || c.LastExit.Code != 3 || !strings.HasPrefix(c.LastExit.Log, "about to crash\n") {
		t.Errorf("want one restart after code 3 with its log, got %+v, %+v", c, c.LastExit)
	}
}

func badDescriptionIsRefused(t *testing.T, r runner.Runner) {
	place, err := r.Reserve(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]runner.Workload{
		"ID":        {ID: "../a"},
		"Traversal": {ID: "a", Files: map[string]runner.File{"../evil": {}}},
		"Port":      {ID: "a", Components: []runner.Component{{Name: "c", Path: "/bin/true", Ports: []string{"unheld"}}}},
	}
	for name, w := range cases {
		var bad *runner.InvalidError
		if err := r.Apply(t.Context(), w); !errors.As(err, &bad) {
			t.Errorf("%s: want an InvalidError, got %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(place.Dir, "..", "evil")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused file must not exist: %v", err)
	}
	if _, err := r.Reserve(t.Context(), "..", nil); err == nil {
		t.Error("Reserve of \"..\": want an error")
	}
	if _, err := r.Remove(t.Context(), "..", 0); err == nil {
		t.Error("Remove of \"..\": want an error")
	}
}

func removeLeavesNothing(t *testing.T, r runner.Runner) {
	Apply(t, r, Server(t, r, "b"))
	w := Server(t, r, "a")
	Apply(t, r, w)
	AwaitState(t, r, "a", "api", runner.StateReady)
	b := AwaitState(t, r, "b", "api", runner.StateReady)
	place, err := r.Reserve(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	list(t, r, "a", "b")
	for range 2 {
		gone, err := r.Remove(t.Context(), "a", 0)
		if err != nil || !gone {
			t.Fatalf("want gone, got %v, %v", gone, err)
		}
	}
	if _, err := os.Stat(place.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory must be gone: %v", err)
	}
	if s, err := r.Status(t.Context(), "a"); err != nil || len(s.Components) != 0 {
		t.Errorf("want no components, got %+v, %v", s, err)
	}
	list(t, r, "b")
	if c := AwaitState(t, r, "b", "api", runner.StateReady); c.PID != b.PID {
		t.Errorf("the other workload was touched: %+v, then %+v", b, c)
	}
	Apply(t, r, Server(t, r, "a")) // the name can be used again
	AwaitState(t, r, "a", "api", runner.StateReady)
}

func list(t *testing.T, r runner.Runner, want ...string) {
	t.Helper()
	got, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(want, got) {
		t.Errorf("List: want %v, got %v", want, got)
	}
}

func unknownWorkload(t *testing.T, r runner.Runner) {
	if s, err := r.Status(t.Context(), "nobody"); err != nil || len(s.Components) != 0 {
		t.Errorf("Status: want nothing, got %+v, %v", s, err)
	}
	if gone, err := r.Remove(t.Context(), "nobody", 0); err != nil || !gone {
		t.Errorf("Remove: want gone, got %v, %v", gone, err)
	}
	list(t, r)
}
