package supervise

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/health"
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
	// looksBack is the time over which uses are smoothed, and for which a host counts as busy after it was.
	looksBack = time.Second
	// perProcess is the time between two looks for each process that is looked at, which takes some 20 us: a hundredth of a processor.
	perProcess = 2 * time.Millisecond
	// sparedFor is for how long a workload that is taken back is not put behind others: it may have used little because it got little.
	sparedFor = time.Second / 2
	// longStart is for how long a program may start before its workload is put behind others: on a host that others keep busy a start
	// would take many times as long, and those beside one have not gained by it (measured, ADR 0063).
	longStart = time.Minute
)

// sharer is a workload that gives way to others like it, as it runs now.
type sharer struct {
	wl        *workload
	limits    confine.Limits
	processes map[int]uint64 // their start times
	starting  bool
}

// looks are what is known from one look at the processors to the next.
type looks struct {
	at     time.Time
	host   hostTime
	busyAt time.Time          // when the host was busy last
	taken  map[string]uint64  // processor time of each workload
	uses   map[string]float64 // processors
	behind map[string]bool
	backAt map[string]time.Time // when a workload was taken back last
	unable bool                 // it was said that this host cannot put workloads behind others
}

// balance looks after the processors until ctx ends. Workloads that are behind others then stay there until the next supervisor gives them
// their limits.
func (s *Supervisor) balance(ctx context.Context) {
	defer s.background.leave()
	next := time.NewTimer(s.conf.Timing.Balance)
	defer next.Stop()
	for l := (&looks{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-s.background.changed:
		case <-next.C:
		}
		s.background.look(time.Now())
		next.Reset(max(s.conf.Timing.Balance, time.Duration(s.rebalance(l))*perProcess))
	}
}

// rebalance is one look, at this many processes: at those of workloads on a busy host alone, where there are several.
func (s *Supervisor) rebalance(l *looks) (processes int) {
	now := time.Now()
	busy := l.busy(now, s.conf.Busy)
	if !busy && len(l.behind) == 0 {
		l.taken, l.uses = nil, nil
		return 0
	}
	all := s.sharers(now)
	if busy && len(all) > 1 {
		processes = l.measure(now, all)
	} else {
		l.taken, l.uses = nil, nil
	}
	behind := behindOthers(l.uses, l.behind)
	for id, w := range all {
		behind[id] = behind[id] && !w.starting && now.Sub(l.backAt[id]) >= sparedFor
		if !behind[id] && !l.behind[id] {
			continue
		}
		w.wl.putBehind(behind[id])
		// Again at each look: a program may have been settled meanwhile as it was before.
		err := s.group(id).PutBehind(behind[id] || s.background.put[id], w.limits)
		if err != nil && !l.unable {
			l.unable = true
			s.conf.Log.Warn("workloads that use much of the processors are not put behind others", "workload", id, "error", err)
		}
		if behind[id] != l.behind[id] {
			s.conf.Log.Debug("processors", "workload", id, "uses", l.uses[id], "behind", behind[id])
		}
	}
	l.taking(now, behind)
	return processes
}

// taking notes who is behind others from now on, and who was taken back.
func (l *looks) taking(now time.Time, behind map[string]bool) {
	maps.DeleteFunc(l.backAt, func(_ string, at time.Time) bool { return now.Sub(at) >= sparedFor })
	if l.backAt == nil {
		l.backAt = map[string]time.Time{}
	}
	for id, was := range l.behind {
		if was && !behind[id] {
			l.backAt[id] = now
		}
	}
	maps.DeleteFunc(behind, func(_ string, so bool) bool { return !so })
	l.behind = behind
}

// busy says whether so much of the host's processors is used, or was a moment ago.
func (l *looks) busy(now time.Time, share float64) bool {
	host, err := readHostTime(allProcessors)
	if err == nil && host.busy(l.host) >= share {
		l.busyAt = now
	}
	l.host = host
	return now.Sub(l.busyAt) < looksBack
}

// allOf are the workloads by their ids: a copy, because the supervisor's lock is not held with one of theirs, see spawn.
func allOf(s *Supervisor) map[string]*workload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.workloads)
}

// sharers are the workloads that give way and run, by their ids.
func (s *Supervisor) sharers(now time.Time) map[string]sharer {
	all := map[string]sharer{}
	for id, wl := range allOf(s) {
		w := sharer{wl: wl, processes: map[int]uint64{}}
		wl.mu.Lock()
		for _, k := range wl.keepers {
			if k.want.limits != nil && k.want.limits.GivesWay && k.status.PID != 0 {
				w.limits, w.processes[k.status.PID] = *k.want.limits, k.start
				w.starting = w.starting || starts(k.status, now)
			}
		}
		wl.mu.Unlock()
		if len(w.processes) > 0 {
			all[id] = w
		} else {
			wl.putBehind(false)
		}
	}
	return all
}

// starts says whether a component is starting, which it is not for ever. It is pure.
func starts(s ComponentStatus, now time.Time) bool {
	return s.State == health.Starting && now.Sub(s.StartedAt) < longStart
}

// putBehind has programs that are settled from now on be behind others, or not.
func (wl *workload) putBehind(so bool) {
	wl.mu.Lock()
	defer wl.mu.Unlock()
	wl.behind = so
}

// limitsNow are limits as they hold while the workload is behind others, or is not.
func (wl *workload) limitsNow(l confine.Limits) confine.Limits {
	wl.mu.Lock()
	defer wl.mu.Unlock()
	return l.Behind(wl.behind || wl.background)
}

// measure looks at what workloads have used since the last look, which the first one does not know, and returns how many processes they have.
func (l *looks) measure(now time.Time, all map[string]sharer) (processes int) {
	taken, uses := map[string]uint64{}, map[string]float64{}
	long := now.Sub(l.at).Seconds()
	last := 1 - math.Exp(-long/looksBack.Seconds()) // the weight of this look
	for id, w := range all {
		processes += len(w.processes)
		for pid, start := range w.processes {
			if st, err := readStat(pid); err == nil && st.start == start {
				taken[id] += st.cpu
			}
		}
		before, known := l.taken[id]
		if known && taken[id] >= before { // otherwise a process has ended
			uses[id] = float64(taken[id]-before) / ticks / long
			if earlier, ok := l.uses[id]; ok {
				uses[id] = last*uses[id] + (1-last)*earlier
			}
		}
	}
	l.at, l.taken, l.uses = now, taken, uses
	return processes
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

// hostTime is processor time since the host's start, in ticks of some of its processors together.
type hostTime struct{ all, idle uint64 }

// readHostTime reads that of the processors that has takes, from /proc/stat (proc_stat(5)).
func readHostTime(has func(processor int) bool) (hostTime, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return hostTime{}, err
	}
	return parseHostTime(string(data), has)
}

// allProcessors are those of the host.
func allProcessors(int) bool { return true }

// parseHostTime reads lines of "cpuN user nice system idle iowait irq softirq steal guest guest_nice"; guests are part of user and nice.
func parseHostTime(stat string, has func(processor int) bool) (sum hostTime, err error) {
	for line := range strings.Lines(stat) {
		fields := strings.Fields(line)
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		processor, bad := strconv.Atoi(fields[0][len("cpu"):])
		if bad != nil || !has(processor) { // the line "cpu" has all together
			continue
		}
		for i, field := range fields[1:9] {
			n, bad := strconv.ParseUint(field, 10, 64)
			err = errors.Join(err, bad)
			sum.all += n
			if i == 3 || i == 4 {
				sum.idle += n
			}
		}
	}
	if sum.all == 0 {
		err = errors.Join(err, errors.New("/proc/stat has no time of these processors"))
	}
	return sum, err
}

// busy is the share of the processor time that was used since an earlier look; 0 when nothing is known of that.
func (t hostTime) busy(before hostTime) float64 {
	if before.all == 0 || t.all <= before.all || t.idle < before.idle {
		return 0
	}
	return 1 - float64(t.idle-before.idle)/float64(t.all-before.all)
}
