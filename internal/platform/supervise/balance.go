package supervise

import (
	"context"
	"errors"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/confine"
)

// The weights of cgroups divide the processors while all are busy, but a program that has just got something to do waits for up to some
// milliseconds behind those that run, on each way between processes that a call takes. So a workload that uses much more than the others is put
// behind them: it gets what they leave, and gives it up at once. It is taken back when it uses little, also where others leave it little, as the
// pods of nodes may: so it always gets some part of a processor.
const (
	// heavyUse is how many processors a workload uses that is put behind others, and heavyRatio how many times as many as the mean of these.
	// With less than lightUse, or less than that mean, it is taken back.
	heavyUse, heavyRatio = 0.3, 1.3
	lightUse             = 0.15
	// lastLook is the weight of the last look in what a workload is held to use.
	lastLook = 0.4
)

// sharer is a workload that gives way to others like it, as it runs now.
type sharer struct {
	limits    confine.Limits
	processes map[int]uint64 // their start times
}

// looks are what is known from one look at the processors to the next.
type looks struct {
	at     time.Time
	host   hostTime
	taken  map[string]uint64  // processor time of each workload
	uses   map[string]float64 // processors
	behind map[string]bool
	unable bool // it was said that this host cannot put workloads behind others
}

// balance looks after the processors until ctx ends. Workloads that are behind others then stay there until the next supervisor gives them
// their limits.
func (s *Supervisor) balance(ctx context.Context) {
	tick := time.NewTicker(s.conf.Timing.Balance)
	defer tick.Stop()
	for l := (&looks{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.rebalance(l, s.sharers())
		}
	}
}

// rebalance is one look. Processes are looked at on a busy host alone, where there are several workloads.
func (s *Supervisor) rebalance(l *looks, all map[string]sharer) {
	busy := false
	if len(all) > 1 {
		now, err := readHostTime()
		busy = err == nil && now.busy(l.host) >= s.conf.Busy
		l.host = now
	}
	if busy {
		l.measure(time.Now(), all)
	} else {
		l.taken, l.uses = nil, nil
	}
	behind := behindOthers(l.uses, l.behind)
	for id, w := range all {
		if !behind[id] && !l.behind[id] {
			continue
		}
		// Again at each look: with a program that has started meanwhile the group got its limits again.
		err := s.group(id).PutBehind(behind[id], w.limits)
		if err != nil && !l.unable {
			l.unable = true
			s.conf.Log.Warn("workloads that use much of the processors are not put behind others", "workload", id, "error", err)
		}
		if behind[id] != l.behind[id] {
			s.conf.Log.Debug("processors", "workload", id, "uses", l.uses[id], "behind", behind[id])
		}
	}
	l.behind = behind
}

// sharers are the workloads that give way and run, by their ids.
func (s *Supervisor) sharers() map[string]sharer {
	s.mu.Lock()
	workloads := maps.Clone(s.workloads)
	s.mu.Unlock() // not held with a workload's, see spawn
	all := map[string]sharer{}
	for id, wl := range workloads {
		wl.mu.Lock()
		w := sharer{processes: map[int]uint64{}}
		for _, k := range wl.keepers {
			if k.want.limits != nil && k.want.limits.GivesWay && k.status.PID != 0 {
				w.limits, w.processes[k.status.PID] = *k.want.limits, k.start
			}
		}
		wl.mu.Unlock()
		if len(w.processes) > 0 {
			all[id] = w
		}
	}
	return all
}

// measure looks at what workloads have used since the last look, which the first one does not know.
func (l *looks) measure(now time.Time, all map[string]sharer) {
	taken, uses := map[string]uint64{}, map[string]float64{}
	for id, w := range all {
		for pid, start := range w.processes {
			if st, err := readStat(pid); err == nil && st.start == start {
				taken[id] += st.cpu
			}
		}
		before, known := l.taken[id]
		if known && taken[id] >= before { // otherwise a process has ended
			uses[id] = float64(taken[id]-before) / ticks / now.Sub(l.at).Seconds()
			if earlier, ok := l.uses[id]; ok {
				uses[id] = lastLook*uses[id] + (1-lastLook)*earlier
			}
		}
	}
	l.at, l.taken, l.uses = now, taken, uses
}

// behindOthers says which workloads are behind the others from now on, by the processors that each uses. It is pure.
func behindOthers(uses map[string]float64, was map[string]bool) map[string]bool {
	sum := 0.0
	for _, use := range uses {
		sum += use
	}
	behind := map[string]bool{}
	for id, use := range uses {
		mean := (sum - use) / float64(max(1, len(uses)-1))
		if was[id] {
			behind[id] = use >= lightUse && use >= mean
		} else {
			behind[id] = use >= heavyUse && use >= heavyRatio*mean
		}
	}
	return behind
}

// hostTime is processor time of the host since its start, in ticks of all processors together.
type hostTime struct{ all, idle uint64 }

// readHostTime reads the first line of /proc/stat (proc_stat(5)).
func readHostTime() (hostTime, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return hostTime{}, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return parseHostTime(line)
}

// parseHostTime reads "cpu user nice system idle iowait irq softirq steal guest guest_nice"; guests are part of user and nice.
func parseHostTime(line string) (t hostTime, err error) {
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return t, errors.New("malformed")
	}
	for i, field := range fields[1:9] {
		n, bad := strconv.ParseUint(field, 10, 64)
		err = errors.Join(err, bad)
		t.all += n
		if i == 3 || i == 4 {
			t.idle += n
		}
	}
	return t, err
}

// busy is the share of the processor time that was used since an earlier look; 0 when nothing is known of that.
func (t hostTime) busy(before hostTime) float64 {
	if before.all == 0 || t.all <= before.all || t.idle < before.idle {
		return 0
	}
	return 1 - float64(t.idle-before.idle)/float64(t.all-before.all)
}
