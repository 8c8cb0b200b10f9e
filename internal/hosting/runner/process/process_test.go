package process_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/hosting/runner/process"
	"kqueen.io/kqueen/internal/hosting/runner/runnertest"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/platform/supervise/programtest"
)

func TestMain(m *testing.M) { os.Exit(programtest.Main(m)) }

func TestContract(t *testing.T) {
	runnertest.Run(t, func(t *testing.T) runner.Runner { return process.New(supervisor(t), programs) })
}

// programs knows the program of the suite.
func programs(p runner.Program) (string, error) {
	if p != runnertest.Program {
		return "", errors.New("unknown program")
	}
	return programtest.Path(), nil
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
