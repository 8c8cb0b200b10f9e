//go:build linux

package e2e

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// report prints what a run has shown, and holds it against what is promised.
func (s *soak) report() {
	s.t.Helper()
	lost, missed, orphans, restarted := 0, 0, 0, 0
	for _, l := range s.loads {
		l.done.Wait()
		for _, what := range append(l.lost, l.missed...) {
			s.t.Errorf("%s: %s", l.name, what)
		}
		lost, missed = lost+len(l.lost), missed+len(l.missed)
		s.t.Logf("%s: %d reads, %d writes acknowledged, %d seen by watch, %d watches begun anew", l.name, l.reads, l.acknowledged, l.seen, l.relists)
	}
	for n, f := range s.faults {
		orphans, restarted = orphans+len(f.orphans), restarted+len(f.restarted)
		if len(f.orphans)+len(f.restarted) > 0 {
			s.t.Errorf("fault %d, %s: restarted %v, orphans %v", n+1, f, f.restarted, f.orphans)
		}
		for _, l := range s.loads {
			if o := l.outages[n]; f.victim.component == "" && s.noticed(o) {
				s.t.Errorf("fault %d, %s: of %s %d reads failed, %d of them slow, and %d watches were cut; the first: %v", n+1, f, l.name, o.failed, o.slow, o.cut, o.why)
			}
		}
	}
	s.t.Logf("%d faults: %d lost writes, %d missed events, %d orphans, %d bystanders restarted\n%s", len(s.faults), lost, missed, orphans, restarted, s.table())
}

// noticed says whether users met a fault of KQueen itself. The short form runs beside other tests, where an answer may take
// seconds for want of a processor: there a refused or cut connection counts alone.
func (s *soak) noticed(o outages) bool {
	if s.short {
		return o.failed > o.slow || o.cut > 0
	}
	return o.failed+o.cut > 0
}

// table has a row for each kind of fault: how long each load was without an answer, and when everything was well.
func (s *soak) table() string {
	kinds := map[string][]int{}
	for n, f := range s.faults {
		kinds[f.String()] = append(kinds[f.String()], n)
	}
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "FAULT\tCOUNT")
	for _, l := range s.loads {
		fmt.Fprintf(w, "\t%s", strings.ToUpper(l.name))
	}
	fmt.Fprintln(w, "\tALL WELL")
	for _, name := range names {
		fmt.Fprintf(w, "%s\t%d", name, len(kinds[name]))
		for _, l := range s.loads {
			var all []time.Duration
			for _, n := range kinds[name] {
				all = append(all, l.outages[n].longest)
			}
			fmt.Fprintf(w, "\t%s", spread(all))
		}
		var healed []time.Duration
		for _, n := range kinds[name] {
			healed = append(healed, s.faults[n].healed)
		}
		fmt.Fprintf(w, "\t%s\n", spread(healed))
	}
	_ = w.Flush()
	return text.String()
}

// spread is "p50/p99/max" in seconds, by the nearest rank.
func spread(all []time.Duration) string {
	slices.Sort(all)
	at := func(share float64) float64 { return all[int(math.Ceil(share*float64(len(all))))-1].Seconds() }
	return fmt.Sprintf("%.1f/%.1f/%.1f", at(0.5), at(0.99), at(1))
}

// stopProcess stops a process until it has ended, or ctx has; then it goes on.
func stopProcess(ctx context.Context, pid int) (ended bool, err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0); err != nil {
		return false, err
	}
	for ctx.Err() == nil {
		// A pidfd can be read when its process has ended.
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(beat.Milliseconds()))
		if n > 0 {
			return true, nil
		}
		if err != nil && err != unix.EINTR {
			return false, err
		}
	}
	return false, unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0)
}
