package supervise

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

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/suitetest"
)

// TestPromises checks what the methods of Supervisor promise.
func TestPromises(t *testing.T) {
	suitetest.Run(t, func(t *testing.T) *Supervisor { return open(t, config(t.TempDir())) }, map[string]func(t *testing.T, r *Supervisor){
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
	})
}

// await waits until ok says yes to the status of id.
func await(t *testing.T, r *Supervisor, id string, ok func(Status) bool) Status {
	t.Helper()
	return suitetest.Await(t, func(ctx context.Context) (Status, error) { return r.Status(ctx, id) }, ok)
}

// awaitState waits until the component is in the state, and returns its status.
func awaitState(t *testing.T, r *Supervisor, id, component string, want health.State) ComponentStatus {
	t.Helper()
	s := await(t, r, id, func(s Status) bool {
		c, ok := s.Component(component)
		return ok && c.State == want
	})
	c, _ := s.Component(component)
	return c
}

// server describes a workload with one component "api" that serves readiness on its reserved port.
func server(t *testing.T, r *Supervisor, id string, args ...string) Workload {
	t.Helper()
	place, err := r.Reserve(t.Context(), id, []string{"api"})
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.AddrPortFrom(place.Addr, uint16(place.Port["api"])).String()
	c := program("api", append([]string{"-serve", addr}, args...)...)
	c.Ports = []string{"api"}
	c.Probe = &Probe{URL: "http://" + addr + "/readyz"}
	return Workload{ID: id, Components: []Component{c}}
}

// apply applies or fails the test.
func apply(t *testing.T, r *Supervisor, w Workload) {
	t.Helper()
	if err := r.Apply(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

func reserveIsStable(t *testing.T, r *Supervisor) {
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

func reserveIsDisjoint(t *testing.T, r *Supervisor) {
	const n = 50
	places := make([]Place, n)
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

func applyRunsUntilReady(t *testing.T, r *Supervisor) {
	w := server(t, r, "a", "-delay", "200ms")
	apply(t, r, w)
	awaitState(t, r, "a", "api", health.Starting)
	c := awaitState(t, r, "a", "api", health.Ready)
	if c.Restarts != 0 || c.LastExit != nil || c.StartedAt.IsZero() {
		t.Errorf("want a first, untroubled start, got %+v", c)
	}
	s, err := r.Status(t.Context(), "a")
	if err != nil || !s.Ready() {
		t.Errorf("want ready, got %+v, %v", s, err)
	}
}

func applyIsIdempotent(t *testing.T, r *Supervisor) {
	w := server(t, r, "a")
	w.Files = map[string]File{"pki/key": {Data: []byte("secret")}, "conf": {Data: []byte("x"), Mode: 0o644}}
	w.Components[0].RestartOn = []string{"pki/key"}
	apply(t, r, w)
	before := awaitState(t, r, "a", "api", health.Ready)
	for range 3 {
		apply(t, r, w)
	}
	// A component that waits for "api" becomes ready only when the supervisor is content with "api" as it was ordered
	// last.
	w.Components = append(w.Components, program("other"))
	w.Components[1].After = []string{"api"}
	apply(t, r, w)
	awaitState(t, r, "a", "other", health.Ready)
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
func sameProcess(t *testing.T, r *Supervisor, before ComponentStatus) {
	t.Helper()
	after := awaitState(t, r, "a", before.Name, health.Ready)
	if before.PID != after.PID || !before.StartedAt.Equal(after.StartedAt) || after.Restarts != before.Restarts {
		t.Errorf("want the same process\nbefore %+v\nafter  %+v", before, after)
	}
}

func newArgumentsRestart(t *testing.T, r *Supervisor) {
	w := server(t, r, "a")
	apply(t, r, w)
	before := awaitState(t, r, "a", "api", health.Ready)
	w.Components[0].Args = append(w.Components[0].Args, "-print", "new")
	apply(t, r, w)
	after := restarted(t, r, before)
	if after.Restarts != 0 || after.LastExit != nil {
		t.Errorf("a wanted restart is no failure, got %+v", after)
	}
}

func restarted(t *testing.T, r *Supervisor, before ComponentStatus) ComponentStatus {
	t.Helper()
	s := await(t, r, "a", func(s Status) bool {
		c, ok := s.Component(before.Name)
		return ok && c.State == health.Ready && c.PID != before.PID
	})
	c, _ := s.Component(before.Name)
	return c
}

func restartOnFileRestarts(t *testing.T, r *Supervisor) {
	w := server(t, r, "a")
	w.Files = map[string]File{"conf": {Data: []byte("1")}}
	w.Components[0].RestartOn = []string{"conf"}
	apply(t, r, w)
	before := awaitState(t, r, "a", "api", health.Ready)
	w.Files["conf"] = File{Data: []byte("2")}
	apply(t, r, w)
	restarted(t, r, before)
}

func otherFileDoesNotRestart(t *testing.T, r *Supervisor) {
	w := server(t, r, "a")
	w.Files = map[string]File{"conf": {Data: []byte("1")}, "token": {Data: []byte("1")}}
	w.Components[0].RestartOn = []string{"conf"}
	apply(t, r, w)
	before := awaitState(t, r, "a", "api", health.Ready)
	w.Files["token"] = File{Data: []byte("2")}
	w.Components = append(w.Components, program("other"))
	w.Components[1].After = []string{"api"}
	apply(t, r, w)
	awaitState(t, r, "a", "other", health.Ready)
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

func unlistedComponentIsStopped(t *testing.T, r *Supervisor) {
	w := server(t, r, "a")
	w.Components = append(w.Components, program("other"))
	apply(t, r, w)
	before := awaitState(t, r, "a", "api", health.Ready)
	awaitState(t, r, "a", "other", health.Ready)
	w.Components = w.Components[:1]
	apply(t, r, w)
	await(t, r, "a", func(s Status) bool { return len(s.Components) == 1 })
	sameProcess(t, r, before)
}

func afterWaitsForReady(t *testing.T, r *Supervisor) {
	w := server(t, r, "a", "-unready", "hold")
	w.Files = map[string]File{"hold": {}}
	next := program("next")
	next.After = []string{"api"}
	w.Components = append(w.Components, next)
	apply(t, r, w)
	// The server answers, but is not ready: only then the waiting is tested.
	await(t, r, "a", func(s Status) bool {
		c, _ := s.Component("api")
		return c.State == health.Starting && c.Message != ""
	})
	if c := awaitState(t, r, "a", "next", health.Waiting); c.PID != 0 {
		t.Errorf("want no process while waiting, got %+v", c)
	}
	place, err := r.Reserve(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(place.Dir, "hold")); err != nil {
		t.Fatal(err)
	}
	awaitState(t, r, "a", "next", health.Ready)
}

func endedComponentIsRestarted(t *testing.T, r *Supervisor) {
	w := server(t, r, "a", "-print", "about to crash", "-crash", "1")
	apply(t, r, w)
	c := awaitState(t, r, "a", "api", health.Ready)
	if c.Restarts != 1 || c.LastExit == nil || c.LastExit.Code != 3 || !strings.HasPrefix(c.LastExit.Log, "about to crash\n") {
		t.Errorf("want one restart after code 3 with its log, got %+v, %+v", c, c.LastExit)
	}
}

func badDescriptionIsRefused(t *testing.T, r *Supervisor) {
	place, err := r.Reserve(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]Workload{
		"ID":        {ID: "../a"},
		"Traversal": {ID: "a", Files: map[string]File{"../evil": {}}},
		"Port":      {ID: "a", Components: []Component{{Name: "c", Path: "/bin/true", Ports: []string{"unheld"}}}},
	}
	for name, w := range cases {
		var bad *invalid.Error
		if err := r.Apply(t.Context(), w); !errors.As(err, &bad) {
			t.Errorf("%s: want an invalid.Error, got %v", name, err)
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

func removeLeavesNothing(t *testing.T, r *Supervisor) {
	apply(t, r, server(t, r, "b"))
	w := server(t, r, "a")
	apply(t, r, w)
	awaitState(t, r, "a", "api", health.Ready)
	b := awaitState(t, r, "b", "api", health.Ready)
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
	if c := awaitState(t, r, "b", "api", health.Ready); c.PID != b.PID {
		t.Errorf("the other workload was touched: %+v, then %+v", b, c)
	}
	apply(t, r, server(t, r, "a")) // the name can be used again
	awaitState(t, r, "a", "api", health.Ready)
}

func list(t *testing.T, r *Supervisor, want ...string) {
	t.Helper()
	got, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(want, got) {
		t.Errorf("List: want %v, got %v", want, got)
	}
}

func unknownWorkload(t *testing.T, r *Supervisor) {
	if s, err := r.Status(t.Context(), "unknown"); err != nil || len(s.Components) != 0 {
		t.Errorf("Status: want nothing, got %+v, %v", s, err)
	}
	if gone, err := r.Remove(t.Context(), "unknown", 0); err != nil || !gone {
		t.Errorf("Remove: want gone, got %v, %v", gone, err)
	}
	list(t, r)
}
