package process_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/hosting/runner/process"
	"kqueen.io/kqueen/internal/hosting/runner/runnertest"
	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/platform/supervise/programtest"
)

func TestMain(m *testing.M) { os.Exit(programtest.Main(m)) }

func TestContract(t *testing.T) {
	runnertest.Run(t, func(t *testing.T) runner.Runner { return process.New(supervisor(t), programs) })
}

// programs knows the program of the suite.
func programs(p runner.Program) (process.Program, error) {
	if p != runnertest.Program {
		return process.Program{}, errors.New("unknown program")
	}
	return process.Program{Path: programtest.Path(), HandsOver: true}, nil
}

// opened counts the supervisors of this test process.
var opened atomic.Uint32

// supervisor listens on a loopback address of its own, so that neither two tests nor two test processes meet on a port.
func supervisor(t *testing.T) *supervise.Supervisor {
	t.Helper()
	n, pid := opened.Add(1), os.Getpid()
	s, err := supervise.New(supervise.Config{
		Dir: t.TempDir(), Listen: netip.AddrFrom4([4]byte{127, byte(129 + pid>>8&0x3f), byte(pid), byte(1 + n%250)}),
		Timing: supervise.Timing{
			ProbeStarting: 10 * time.Millisecond, ProbeReady: 20 * time.Millisecond, BackoffFirst: 10 * time.Millisecond,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, s) })
	return s
}

// remove ends what runs: processes outlive their supervisor.
func remove(t *testing.T, s *supervise.Supervisor) {
	ids, err := s.List(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Error(err)
	}
	for _, id := range ids {
		if gone, err := s.Remove(context.WithoutCancel(t.Context()), id, 0); err != nil || !gone {
			t.Errorf("remove %s: %v, %v", id, gone, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestUnknownProgram: what is not on the host is said, and what runs goes on.
func TestUnknownProgram(t *testing.T) {
	t.Parallel()
	r := process.New(supervisor(t), programs)
	w := runner.Workload{ID: "a", Components: []runner.Component{{Name: "c", Program: runnertest.Program, Env: programtest.Env()}}}
	if err := r.Apply(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	w.Components[0].Program.Version = "v9.9.9"
	if err := r.Apply(t.Context(), w); err == nil {
		t.Error("want an error")
	}
	s, err := r.Status(t.Context(), "a")
	if c, _ := s.Component("c"); err != nil || c.State == health.Stopping {
		t.Errorf("want it to go on, got %+v, %v", s, err)
	}
}

// TestPrivileges: what programs are held to together is what the portable description says of each.
func TestPrivileges(t *testing.T) {
	one := func(milliCPU, memory int64) runner.Component {
		return runner.Component{Program: runnertest.Program, Resources: runner.Resources{
			Requests: runner.Amounts{MilliCPU: milliCPU}, Limits: runner.Amounts{Memory: memory},
		}}
	}
	cases := map[string]struct {
		workload runner.Workload
		want     supervise.Workload
	}{
		"a tenant": {
			runner.Workload{Unprivileged: true, Components: []runner.Component{one(100, 3<<20), one(40, 1<<20)}},
			supervise.Workload{Confined: true, Score: confine.ScoreTenant, Limits: confine.Limits{Memory: 4 << 20, Weight: 140, Tasks: 2048, GivesWay: true}},
		},
		"what all depend on": {
			runner.Workload{Unprivileged: true, Essential: true, Components: []runner.Component{one(500, 0), one(200, 1<<20)}},
			supervise.Workload{Confined: true, Management: true, Score: confine.ScoreKept, Limits: confine.Limits{Weight: 700, Tasks: 2048}},
		},
		"with privileges": {
			runner.Workload{Components: []runner.Component{one(0, 0)}},
			supervise.Workload{Score: confine.ScoreTenant, Limits: confine.Limits{Tasks: 1024, GivesWay: true}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := process.Describe(tc.workload, supervise.Place{}, programs)
			if err != nil {
				t.Fatal(err)
			}
			got.Components, got.Files = nil, nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHandOver: what can be replaced while it runs has an address of its own, which another identity does not share.
func TestHandOver(t *testing.T) {
	w := runner.Workload{
		Ports: []runner.Port{{Name: "api", Public: true}},
		Components: []runner.Component{{
			Name: "c", Program: runnertest.Program, Args: []string{"--port=" + runner.PortRef("api")}, Ports: []string{"api"},
			Probe: &runner.Probe{Port: "api", Path: "/readyz"},
			HandOver: &runner.HandOver{
				Port: "api", Within: time.Minute, Args: []string{"--folder=" + runner.HandoverRef("api"), "--own=" + runner.OwnRef("api")},
			},
		}},
	}
	at := supervise.Place{Dir: "/run/a", Addr: netip.MustParseAddr("192.0.2.7"), Port: map[string]int{"api": 6443}}
	describe := func(hands bool) supervise.Component {
		t.Helper()
		got, err := process.Describe(w, at, func(runner.Program) (process.Program, error) {
			return process.Program{Path: "/bin/c", HandsOver: hands}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got.Components[0]
	}
	own := describe(true).Ports[1]
	at.Port[own] = 7000
	want := supervise.Component{
		Name: "c", Path: "/bin/c", Args: []string{"--folder=handover", "--own=127.0.0.1:7000", "--port=6443"}, Ports: []string{"api", own},
		Writes: []string{"handover"}, Probe: &supervise.Probe{URL: "http://127.0.0.1:7000/readyz"}, HandsOver: time.Minute, Hands: "192.0.2.7:6443", TakesIn: process.HandoverFolder,
	}
	if diff := cmp.Diff(want, describe(true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = supervise.Component{
		Name: "c", Path: "/bin/c", Args: []string{"--port=6443"}, Ports: []string{"api"}, Probe: &supervise.Probe{URL: "http://192.0.2.7:6443/readyz"},
	}
	if diff := cmp.Diff(want, describe(false)); diff != "" {
		t.Errorf("of a program that cannot (-want +got):\n%s", diff)
	}
	w.Components[0].Args[0] += "0"
	if next := describe(true).Ports[1]; next == own {
		t.Errorf("another identity has the same port %s", own)
	}
}
