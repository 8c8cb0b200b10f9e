package runnertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/suitetest"
	"kqueen.io/kqueen/internal/platform/supervise/programtest"
)

// Program is what the components of the suite run: the runner under test must know it as the program of programtest.
var Program = runner.Program{Name: "program", Version: "v1.0.0"}

// Run checks what every runner promises. open returns a runner without workloads, and cleans up after the test.
func Run(t *testing.T, open func(t *testing.T) runner.Runner) {
	suitetest.Run(t, open, map[string]func(t *testing.T, r runner.Runner){
		"ReserveIsStable":            reserveIsStable,
		"ReserveIsDisjoint":          reserveIsDisjoint,
		"OnlyPublicPortsAreOutside":  onlyPublicPortsAreOutside,
		"ApplyRunsUntilReady":        applyRunsUntilReady,
		"ReferencesAreResolved":      referencesAreResolved,
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
		"UnprivilegedIsSaid":         unprivilegedIsSaid,
	})
}

// await waits until ok says yes to the status of id.
func await(t *testing.T, r runner.Runner, id string, ok func(health.Status) bool) health.Status {
	t.Helper()
	return suitetest.Await(t, func(ctx context.Context) (health.Status, error) { return r.Status(ctx, id) }, ok)
}

// awaitState waits until the component is in the state, and returns its status.
func awaitState(t *testing.T, r runner.Runner, id, component string, want health.State) health.Component {
	t.Helper()
	s := await(t, r, id, func(s health.Status) bool {
		c, ok := s.Component(component)
		return ok && c.State == want
	})
	c, _ := s.Component(component)
	return c
}

var ports = []runner.Port{{Name: "api", Public: true}, {Name: "health"}}

// component describes the program with the given flags.
func component(name string, args ...string) runner.Component {
	return runner.Component{Name: name, Program: Program, Args: args, Env: programtest.Env()}
}

// server describes a workload with one component "api" that serves readiness on its public port.
func server(id string, args ...string) runner.Workload {
	c := component("api", append([]string{"-serve", runner.BindRef("api") + ":" + runner.PortRef("api")}, args...)...)
	c.Ports = []string{"api"}
	c.Probe = &runner.Probe{Port: "api", Path: "/readyz"}
	return runner.Workload{ID: id, Ports: ports, Files: map[string]runner.File{}, Components: []runner.Component{c}}
}

// after describes a component that starts once "api" is ready.
func after(name string) runner.Component {
	c := component(name)
	c.After = []string{"api"}
	return c
}

func apply(t *testing.T, r runner.Runner, w runner.Workload) {
	t.Helper()
	if err := r.Apply(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

func reserve(t *testing.T, r runner.Runner, id string) runner.Place {
	t.Helper()
	place, err := r.Reserve(t.Context(), id, ports)
	if err != nil {
		t.Fatal(err)
	}
	return place
}

func reserveIsStable(t *testing.T, r runner.Runner) {
	first := reserve(t, r, "a")
	if !first["api"].Inside.IsValid() || !first["health"].Inside.IsValid() || first["api"].Inside == first["health"].Inside {
		t.Errorf("want two endpoints, got %v", first)
	}
	apply(t, r, server("a"))
	awaitState(t, r, "a", "api", health.Ready)
	if diff := cmp.Diff(first, reserve(t, r, "a"), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("second call (-first +second):\n%s", diff)
	}
}

func reserveIsDisjoint(t *testing.T, r runner.Runner) {
	const n = 50
	places := make([]runner.Place, n)
	g, ctx := errgroup.WithContext(t.Context())
	for i := range n {
		g.Go(func() (err error) {
			places[i], err = r.Reserve(ctx, fmt.Sprintf("w%d", i), ports)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	owner := map[netip.AddrPort]int{}
	for i, place := range places {
		for name, end := range place {
			if other, ok := owner[end.Inside]; ok {
				t.Errorf("%s (%s of w%d) also belongs to w%d", end.Inside, name, i, other)
			}
			owner[end.Inside] = i
		}
	}
	if len(owner) != 2*n {
		t.Errorf("want %d endpoints, got %d", 2*n, len(owner))
	}
}

func onlyPublicPortsAreOutside(t *testing.T, r runner.Runner) {
	place := reserve(t, r, "a")
	if !place["api"].Outside.IsValid() || place["health"].Outside.IsValid() {
		t.Errorf("want only the public port to be reached from outside, got %v", place)
	}
}

func applyRunsUntilReady(t *testing.T, r runner.Runner) {
	w := server("a", "-delay", "200ms")
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
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+reserve(t, r, "a")["api"].Inside.String()+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("the endpoint that was reserved does not answer: %v", err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("want 200, got %d, %v", resp.StatusCode, err)
	}
}

// referencesAreResolved: the program is ready only when its files hold what its arguments say, and only in a template
// is a reference more than text.
func referencesAreResolved(t *testing.T, r runner.Runner) {
	at := runner.LocalRef("api")
	w := server("a", "-holds", runner.FileRef("conf")+"="+at, "-holds", runner.FileRef("key")+"=$", "-differs", runner.FileRef("plain")+"="+at)
	w.Files["conf"] = runner.File{Data: []byte(at), Template: true}
	w.Files["plain"] = runner.File{Data: []byte(at)}
	w.Files["key"] = runner.File{Data: []byte("$"), Secret: true}
	apply(t, r, w)
	awaitState(t, r, "a", "api", health.Ready)
}

// unprivilegedIsSaid: a workload without privileges finds its files all the same, and how far it is held apart from others
// is said.
func unprivilegedIsSaid(t *testing.T, r runner.Runner) {
	w := server("a", "-holds", runner.FileRef("key")+"=secret")
	w.Files["key"] = runner.File{Data: []byte("secret"), Secret: true}
	w.Unprivileged = true
	apply(t, r, w)
	if s := await(t, r, "a", health.Status.Ready); s.Confinement == "" {
		t.Errorf("want to be told how far it is confined, got %+v", s)
	}
}

func applyIsIdempotent(t *testing.T, r runner.Runner) {
	w := server("a")
	w.Files["key"] = runner.File{Data: []byte("secret"), Secret: true}
	w.Components[0].RestartOn = []string{"key"}
	apply(t, r, w)
	before := awaitState(t, r, "a", "api", health.Ready)
	for range 3 {
		apply(t, r, w)
	}
	// A component that waits for "api" becomes ready only when the runner is content with "api" as it was described last.
	w.Components = append(w.Components, after("other"))
	apply(t, r, w)
	awaitState(t, r, "a", "other", health.Ready)
	same(t, r, before)
}

// same fails unless workload "a" has the very program of before.
func same(t *testing.T, r runner.Runner, before health.Component) {
	t.Helper()
	now := awaitState(t, r, "a", before.Name, health.Ready)
	if !before.StartedAt.Equal(now.StartedAt) || now.Restarts != before.Restarts {
		t.Errorf("want no restart\nbefore %+v\nafter  %+v", before, now)
	}
}

// restarted waits until another program than that of before is ready.
func restarted(t *testing.T, r runner.Runner, before health.Component) health.Component {
	t.Helper()
	s := await(t, r, "a", func(s health.Status) bool {
		c, ok := s.Component(before.Name)
		return ok && c.State == health.Ready && !c.StartedAt.Equal(before.StartedAt)
	})
	c, _ := s.Component(before.Name)
	return c
}

func newArgumentsRestart(t *testing.T, r runner.Runner) {
	w := server("a")
	apply(t, r, w)
	before := awaitState(t, r, "a", "api", health.Ready)
	w.Components[0].Args = append(w.Components[0].Args, "-print", "new")
	apply(t, r, w)
	if now := restarted(t, r, before); now.Restarts != 0 || now.LastExit != nil {
		t.Errorf("a wanted restart is no failure, got %+v", now)
	}
}

func restartOnFileRestarts(t *testing.T, r runner.Runner) {
	w := server("a")
	w.Files["conf"] = runner.File{Data: []byte("1")}
	w.Components[0].RestartOn = []string{"conf"}
	apply(t, r, w)
	before := awaitState(t, r, "a", "api", health.Ready)
	w.Files["conf"] = runner.File{Data: []byte("2")}
	apply(t, r, w)
	restarted(t, r, before)
}

// otherFileDoesNotRestart: the program reads its token again and again, and is ready with the second one.
func otherFileDoesNotRestart(t *testing.T, r runner.Runner) {
	w := server("a", "-holds", runner.FileRef("token")+"=2")
	w.Files["token"] = runner.File{Data: []byte("1")}
	apply(t, r, w)
	before := unready(t, r)
	w.Files["token"] = runner.File{Data: []byte("2")}
	apply(t, r, w)
	same(t, r, before)
}

// unready waits until "api" has answered that it is not ready.
func unready(t *testing.T, r runner.Runner) health.Component {
	t.Helper()
	s := await(t, r, "a", func(s health.Status) bool {
		c, _ := s.Component("api")
		return c.State == health.Starting && strings.Contains(c.Message, "informer-sync failed")
	})
	c, _ := s.Component("api")
	return c
}

func unlistedComponentIsStopped(t *testing.T, r runner.Runner) {
	w := server("a")
	w.Components = append(w.Components, component("other"))
	apply(t, r, w)
	before := awaitState(t, r, "a", "api", health.Ready)
	awaitState(t, r, "a", "other", health.Ready)
	w.Components = w.Components[:1]
	apply(t, r, w)
	await(t, r, "a", func(s health.Status) bool { return len(s.Components) == 1 })
	same(t, r, before)
}

func afterWaitsForReady(t *testing.T, r runner.Runner) {
	w := server("a", "-holds", runner.FileRef("go")+"=yes")
	w.Files["go"] = runner.File{Data: []byte("no")}
	w.Components = append(w.Components, after("next"))
	apply(t, r, w)
	unready(t, r) // it answers, but is not ready: only then the waiting is tested
	if c := awaitState(t, r, "a", "next", health.Waiting); !c.StartedAt.IsZero() {
		t.Errorf("want no program while waiting, got %+v", c)
	}
	w.Files["go"] = runner.File{Data: []byte("yes")}
	apply(t, r, w)
	awaitState(t, r, "a", "next", health.Ready)
}

func endedComponentIsRestarted(t *testing.T, r runner.Runner) {
	apply(t, r, server("a", "-print", "about to crash", "-crash", "1"))
	c := awaitState(t, r, "a", "api", health.Ready)
	if c.Restarts != 1 || c.LastExit == nil || c.LastExit.Code != 3 || !strings.HasPrefix(c.LastExit.Log, "about to crash\n") {
		t.Errorf("want one restart after code 3 with its log, got %+v, %+v", c, c.LastExit)
	}
}

func badDescriptionIsRefused(t *testing.T, r runner.Runner) {
	cases := map[string]runner.Workload{
		"ID":        {ID: "../a"},
		"File":      {ID: "a", Files: map[string]runner.File{"../evil": {}}},
		"Port":      {ID: "a", Components: []runner.Component{{Name: "c", Program: Program, Ports: []string{"unknown"}}}},
		"Reference": {ID: "a", Components: []runner.Component{component("c", runner.FileRef("unknown"))}},
	}
	for name, w := range cases {
		if _, ok := errors.AsType[*invalid.Error](r.Apply(t.Context(), w)); !ok {
			t.Errorf("%s: want an invalid.Error", name)
		}
	}
	if s, err := r.Status(t.Context(), "a"); err != nil || len(s.Components) != 0 {
		t.Errorf("what is refused must not run: %+v, %v", s, err)
	}
	if _, err := r.Reserve(t.Context(), "..", nil); err == nil {
		t.Error("Reserve of \"..\": want an error")
	}
	if _, err := r.Remove(t.Context(), "..", 0); err == nil {
		t.Error("Remove of \"..\": want an error")
	}
}

func removeLeavesNothing(t *testing.T, r runner.Runner) {
	apply(t, r, server("b"))
	apply(t, r, server("a"))
	awaitState(t, r, "a", "api", health.Ready)
	b := awaitState(t, r, "b", "api", health.Ready)
	for range 2 {
		gone, err := r.Remove(t.Context(), "a", 0)
		if err != nil || !gone {
			t.Fatalf("want gone, got %v, %v", gone, err)
		}
	}
	if s, err := r.Status(t.Context(), "a"); err != nil || len(s.Components) != 0 {
		t.Errorf("want no components, got %+v, %v", s, err)
	}
	if c := awaitState(t, r, "b", "api", health.Ready); !c.StartedAt.Equal(b.StartedAt) {
		t.Errorf("the other workload was touched: %+v, then %+v", b, c)
	}
	apply(t, r, server("a")) // the name can be used again
	awaitState(t, r, "a", "api", health.Ready)
}

func unknownWorkload(t *testing.T, r runner.Runner) {
	if s, err := r.Status(t.Context(), "unknown"); err != nil || len(s.Components) != 0 {
		t.Errorf("Status: want nothing, got %+v, %v", s, err)
	}
	if gone, err := r.Remove(t.Context(), "unknown", 0); err != nil || !gone {
		t.Errorf("Remove: want gone, got %v, %v", gone, err)
	}
}
