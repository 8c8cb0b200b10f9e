package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/health"
)

// orphaned starts a ready server "api" of workload "a" under another KQueen and kills that one. change may be nil.
func orphaned(t *testing.T, conf Config, change func(*Workload)) Workload {
	t.Helper()
	r, err := New(conf)
	if err != nil {
		t.Fatal(err)
	}
	w := server(t, r, "a")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&w)
	}
	_, kill := startHelper(t, conf.Dir, helperJob{Listen: conf.Listen, Workload: w, UntilReady: true})
	kill()
	return w
}

// leaders returns the pids of the components that really run.
func leaders(t *testing.T, r *Supervisor, id string) (pids []int) {
	t.Helper()
	all, _, err := scan(r.instance)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.leader && f.workload == id {
			pids = append(pids, f.pid)
		}
	}
	return pids
}

func TestSurvivesKill(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	w := orphaned(t, conf, nil)
	r := open(t, conf)
	adopted := awaitState(t, r, "a", "api", StateAdopted)
	if got := leaders(t, r, "a"); !slices.Equal(got, []int{adopted.PID}) {
		t.Fatalf("want the one process %d, found %v", adopted.PID, got)
	}
	apply(t, r, w)
	c := awaitState(t, r, "a", "api", health.Ready)
	if c.PID != adopted.PID || c.Restarts != 0 || c.LastExit != nil || !c.StartedAt.Before(time.Now()) {
		t.Errorf("want the adopted process %d untouched, got %+v", adopted.PID, c)
	}
	if err := unix.Kill(c.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c = untilRestarted(t, r, c)
	if c.Restarts != 1 || c.LastExit == nil {
		t.Errorf("want the end of an adopted process to be seen and answered, got %+v", c)
	}
}

func untilRestarted(t *testing.T, r *Supervisor, before ComponentStatus) ComponentStatus {
	t.Helper()
	s := await(t, r, "a", func(s Status) bool {
		c, _ := s.Component(before.Name)
		return c.State == health.Ready && c.PID != before.PID
	})
	c, _ := s.Component(before.Name)
	return c
}

func TestSurvivesClose(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	r := open(t, conf)
	w := server(t, r, "a")
	apply(t, r, w)
	before := awaitState(t, r, "a", "api", health.Ready)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Apply(t.Context(), w); !errors.Is(err, ErrClosed) {
		t.Errorf("Apply after Close: want ErrClosed, got %v", err)
	}
	r = open(t, conf)
	apply(t, r, w)
	if c := awaitState(t, r, "a", "api", health.Ready); c.PID != before.PID || c.Restarts != 0 {
		t.Errorf("want %d untouched, got %+v", before.PID, c)
	}
	again := server(t, r, "a")
	if again.Components[0].Probe.URL != w.Components[0].Probe.URL {
		t.Errorf("ports must survive: %s, then %s", w.Components[0].Probe.URL, again.Components[0].Probe.URL)
	}
	other := server(t, r, "b")
	if other.Components[0].Probe.URL == w.Components[0].Probe.URL {
		t.Error("a port was handed out twice after a restart")
	}
}

func TestAdoptedWithNewIdentityRestarts(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	w := orphaned(t, conf, nil)
	r := open(t, conf)
	adopted := awaitState(t, r, "a", "api", StateAdopted)
	w.Components[0].Args = append(w.Components[0].Args, "-print", "new")
	apply(t, r, w)
	c := untilRestarted(t, r, adopted)
	if got := leaders(t, r, "a"); !slices.Equal(got, []int{c.PID}) {
		t.Errorf("want only %d, found %v", c.PID, got)
	}
}

func TestAdoptedThatEndsWaitsForApply(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	w := orphaned(t, conf, nil)
	r := open(t, conf)
	adopted := awaitState(t, r, "a", "api", StateAdopted)
	if err := unix.Kill(adopted.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c := awaitState(t, r, "a", "api", StateExited)
	if c.PID != 0 || c.LastExit == nil || c.LastExit.Code != -1 || c.LastExit.Signal != "killed" {
		t.Errorf("want the kill told, got %+v, %+v", c, c.LastExit)
	}
	apply(t, r, w)
	awaitState(t, r, "a", "api", health.Ready)
}

func TestOrphanOfUnknownWorkload(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	orphaned(t, conf, nil)
	// Its directory is lost, the process still runs.
	if err := os.RemoveAll(filepath.Join(conf.Dir, "workloads", "a")); err != nil {
		t.Fatal(err)
	}
	r := open(t, conf)
	ids, err := r.List(t.Context())
	if err != nil || !slices.Equal(ids, []string{"a"}) {
		t.Fatalf("want the orphan listed, got %v, %v", ids, err)
	}
	if gone, err := r.Remove(t.Context(), "a", time.Second); !gone || err != nil {
		t.Fatalf("want gone, got %v, %v", gone, err)
	}
	if got := leaders(t, r, "a"); got != nil {
		t.Errorf("still running: %v", got)
	}
}

// TestKilledWhileStarting kills KQueen while it starts programs. Whatever was forked by then must be found: in the end
// each component runs exactly once.
func TestKilledWhileStarting(t *testing.T) {
	t.Parallel()
	const components = 6
	for range 5 {
		conf := config(t.TempDir())
		w := Workload{ID: "a"}
		for i := range components {
			w.Components = append(w.Components, program(fmt.Sprintf("c%d", i)))
		}
		_, kill := startHelper(t, conf.Dir, helperJob{Listen: conf.Listen, Workload: w})
		kill()
		r := open(t, conf)
		apply(t, r, w)
		await(t, r, "a", func(s Status) bool { return len(s.Components) == components && s.Ready() })
		if got := leaders(t, r, "a"); len(got) != components {
			t.Errorf("want %d processes, found %d", components, len(got))
		}
	}
}

func TestLockExcludesSecondRunner(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	pid, kill := startHelper(t, conf.Dir, helperJob{Listen: conf.Listen, Workload: Workload{ID: "a"}})
	short := conf
	short.Timing.LockWait = time.Millisecond
	r, err := New(short)
	var locked *LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("want a LockedError, got %v, %v", r, err)
	}
	if locked.PID != pid {
		t.Errorf("holder: want %d, got %d", pid, locked.PID)
	}
	kill()
	open(t, conf)
}

// marked starts the program with the marks of dir's supervisor, behind its back.
func marked(t *testing.T, dir string, args ...string) *proc {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := program("api", args...)
	m := marks{instance: instanceOf(dir), workload: "a", component: "api", spec: "s"}
	p, err := start(launch{path: c.Path, dir: dir, log: filepath.Join(dir, "log"), args: args,
		env: append(c.Env, m.environ()...), spec: "s"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSecondProcessIsKilled(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	first := marked(t, conf.Dir)
	defer first.release()
	second := marked(t, conf.Dir)
	defer second.release()
	if first.start == second.start && first.pid > second.pid { // pids wrapped within one tick
		first, second = second, first
	}
	r := open(t, conf)
	<-second.done
	if c := awaitState(t, r, "a", "api", StateAdopted); c.PID != first.pid {
		t.Errorf("want the older %d, got %+v", first.pid, c)
	}
}

func TestZombieIsGone(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	dir, err := filepath.EvalSymlinks(conf.Dir)
	if err != nil {
		t.Fatal(err)
	}
	c := program("api", "-exit", "0")
	m := marks{instance: instanceOf(dir), workload: "a", component: "api", spec: "s"}
	child, err := os.StartProcess(c.Path, append([]string{c.Path}, c.Args...), &os.ProcAttr{Env: append(c.Env, m.environ()...)})
	if err != nil {
		t.Fatal(err)
	}
	// Wait for its end without reaping it.
	if err := unix.Waitid(unix.P_PID, child.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if st, err := readStat(child.Pid); err != nil || !st.dead() {
		t.Fatalf("want a zombie, got %+v, %v", st, err)
	}
	r := open(t, conf)
	if ids, err := r.List(t.Context()); err != nil || len(ids) != 0 {
		t.Errorf("want nothing listed, got %v, %v", ids, err)
	}
	if gone, err := r.Remove(t.Context(), "a", 0); err != nil || !gone {
		t.Errorf("want gone, got %v, %v", gone, err)
	}
	if _, err := child.Wait(); err != nil {
		t.Errorf("the zombie was reaped by the wrong one: %v", err)
	}
}

// TestChildrenAreReaped holds that the supervisor leaves no zombie of its own.
func TestChildrenAreReaped(t *testing.T) {
	t.Parallel()
	p := marked(t, t.TempDir(), "-exit", "7")
	defer p.release()
	<-p.done
	if p.end.code != 7 || p.end.signal != "" {
		t.Errorf("want code 7, got %+v", p.end)
	}
	if st, err := readStat(p.pid); err == nil && st.start == p.start {
		t.Errorf("still there: %+v", st)
	}
	if err := p.signal(unix.SIGKILL); err != nil {
		t.Errorf("a signal to a dead process is no error, got %v", err)
	}
}
