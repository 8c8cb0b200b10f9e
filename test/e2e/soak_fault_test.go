//go:build linux

package e2e

import (
	"context"
	"slices"
	"strings"
	"time"
)

// victim is a program that a fault hits; workload and component are as in the status, and both empty for KQueen itself.
type victim struct {
	workload, component string
	own                 bool
	pid                 int
}

// String names the kind of program, whatever cluster or machine it belongs to.
func (v victim) String() string {
	switch {
	case v.component == "":
		return "kqueen"
	case v.component == v.workload:
		return v.component
	case v.own:
		return v.component + " (" + v.workload + ")"
	case slices.Contains([]string{"machine", "containerd", "kubelet", "kube-proxy"}, v.component):
		return v.component + " (node)"
	}
	return v.component + " (cluster)"
}

// fault is one that was made, and what came of it.
type fault struct {
	victim    victim
	hang      bool
	ended     bool          // the victim was, by the fault or by its supervisor
	ends      []string      // containers that end with the machine that is hit
	healed    time.Duration // until everything was well
	restarted []string      // programs and containers that have nothing to do with it
	orphans   []string
}

func (f *fault) String() string {
	if f.hang {
		return "stop " + f.victim.String()
	}
	return "kill " + f.victim.String()
}

// first are killed first, so that every run has them: what the data path of all clusters goes through.
var first = []string{"kqueen", "etcd", "store-gate"}

// choose takes any program but those of the bystander.
func (s *soak) choose() *fault {
	s.t.Helper()
	all := []victim{{pid: s.server()}}
	for _, w := range s.status().Workloads {
		for _, c := range w.Components {
			all = append(all, victim{workload: w.Name, component: c.Name, own: w.Own, pid: c.PID})
		}
	}
	all = slices.DeleteFunc(all, func(v victim) bool { return strings.Contains(v.workload, "bystander") || v.pid == 0 })
	if n := len(s.faults); n < len(first) {
		at := slices.IndexFunc(all, func(v victim) bool { return v.String() == first[n] })
		if at < 0 {
			s.t.Fatalf("%s does not run", first[n])
		}
		return &fault{victim: all[at]}
	}
	return &fault{victim: all[s.random.IntN(len(all))], hang: !s.short && s.random.IntN(3) == 0}
}

func (s *soak) server() int {
	s.t.Helper()
	pids := s.servers()
	if len(pids) != 1 {
		s.t.Fatalf("%d kqueen serve, want one", len(pids))
	}
	return pids[0]
}

// fault makes one, waits until everything is well again, and looks at what it has done.
func (s *soak) fault(f *fault) {
	s.t.Helper()
	s.faults = append(s.faults, f)
	for _, l := range s.loads {
		l.begin(len(s.faults) - 1)
	}
	programs, containers, soaked := s.others(f), s.bystander.containers(), s.soaked.containers()
	begin := time.Now()
	switch {
	case f.hang:
		f.ended = s.stop(f.victim)
	case f.victim.component == "" && s.random.IntN(2) == 0: // its keeper, too: it stays away for longer
		s.halt()
		f.ended = true
	default:
		kill(s.t, f.victim.pid)
		f.ended = true
	}
	if f.ended && f.victim.component == "machine" {
		f.ends = soaked
	} else {
		containers = append(containers, soaked...)
	}
	if f.victim.component == "" {
		<-time.After(time.Duration(s.random.Int64N(int64(5 * time.Second))))
		s.up()
	}
	eventually(s.t, "everything is well after "+f.String(), func(ctx context.Context) error { return s.well(ctx, f) })
	f.healed = time.Since(begin)
	f.restarted = append(missing(programs, s.others(f)), missing(containers, append(s.bystander.containers(), s.soaked.containers()...))...)
	f.orphans = s.orphans()
	if len(f.restarted) > 0 {
		for _, w := range []*workers{s.bystander, s.soaked} {
			s.t.Log(w.kube("get", "events", "-A", "--field-selector", "type=Warning"))
		}
	}
	s.t.Logf("%3d %-45s well after %5.1fs, restarted %v, orphans %v", len(s.faults), f, f.healed.Seconds(), f.restarted, f.orphans)
}

// stop stops a program as a hang would, until its supervisor ends it, or for a while.
func (s *soak) stop(v victim) (ended bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), hungFor)
	defer cancel()
	ended, err := stopProcess(ctx, v.pid)
	if err != nil {
		s.t.Fatalf("stop %s: %v", v, err)
	}
	return ended
}

// others are the programs that a fault leaves alone. A machine takes with it what runs on it.
func (s *soak) others(f *fault) []string {
	s.t.Helper()
	return s.supervised(func(w workloadStatus, c componentStatus) bool {
		return c.PID != f.victim.pid && (f.victim.component != "machine" || w.Name != f.victim.workload)
	})
}

// missing are those that were there and are not any more.
func missing(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(before), func(one string) bool { return slices.Contains(after, one) })
}
