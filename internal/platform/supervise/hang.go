package supervise

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/health"
)

// silence is what is known of a process since it stopped answering its probes.
type silence struct {
	since  time.Time
	wanted time.Duration // processor time that it had taken or waited for until then
	looks  int           // how often it was looked at
	disk   int           // how often a thread waited for a disk then
}

// idleShare is the share of a processor below which a process does nothing: the background work of a Go program that
// is blocked stays below it, also where it has to wait for a processor.
const idleShare = 0.05

// patience is for how long a process may leave its probes unanswered. A process that is stopped will not answer, one
// that does nothing has nothing to wait for, and one that works may only be slow: ending it then would make a host that
// is overloaded worse. It is pure.
func (t Timing) patience(stopped, disk bool, share float64) time.Duration {
	switch {
	case stopped:
		return t.HangStopped
	case !disk && share < idleShare:
		return t.HangIdle
	}
	return t.HangBusy
}

// silent says whether the result of a probe is no sign of life. Any answer is one, that it is not ready and that nothing
// listens included, but for one that lacks the very thing that it is there for. It is pure.
func silent(result error) bool {
	_, absent := errors.AsType[*absentError](result)
	timeout, ok := errors.AsType[net.Error](result)
	return absent || ok && timeout.Timeout()
}

// gone says whether nothing listens where a process answers its probes that another one can replace. Such a process was told to leave,
// by an earlier KQueen, and serves no more.
func (p *proc) gone(result error) bool { return p.leaves > 0 && errors.Is(result, unix.ECONNREFUSED) }

// listen takes note of the result of a probe, and gives a process up that has been silent for too long.
func (k *keeper) listen(now time.Time, result error) {
	quiet := k.silence.note(k, k.proc, now, silent(result) || k.proc.gone(result))
	if quiet == 0 {
		return
	}
	k.hung, k.hungAt = quiet, now
	// A Go program writes what its goroutines do into its log, and ends.
	k.send(unix.SIGQUIT)
}

// note takes note of whether a probe of p had no answer, and returns for how long it has been silent when that is too long.
func (s *silence) note(k *keeper, p *proc, now time.Time, unanswered bool) (tooLong time.Duration) {
	if !unanswered {
		*s = silence{}
		return 0
	}
	st, err := readStat(p.pid)
	if err != nil {
		return 0 // it is gone, and its end is on its way to us
	}
	wanted, disk := wantedBy(p.pid)
	if s.since.IsZero() {
		*s = silence{since: now, wanted: wanted}
	}
	s.looks++
	if disk {
		s.disk++
	}
	quiet := now.Sub(s.since)
	share := (wanted - s.wanted).Seconds() / max(quiet.Seconds(), 1)
	disk = 2*s.disk > s.looks
	if quiet < k.s.conf.Timing.patience(st.stopped(), disk, share) {
		return 0
	}
	k.s.conf.Log.Warn("hangs and is ended", "workload", k.wl.id, "component", k.name, "pid", p.pid,
		"silent", quiet, "stopped", st.stopped(), "disk", disk, "processor", share)
	return quiet
}

// endHung kills a process that hangs when it has had the time to say why.
func (k *keeper) endHung() (health.State, string) {
	deadline := k.hungAt.Add(k.s.conf.Timing.HangGrace)
	if !k.killed && !time.Now().Before(deadline) {
		k.killed = true
		k.send(unix.SIGKILL)
	}
	k.at(deadline)
	return health.NotReady, fmt.Sprintf("its probe had no answer for %v, and it is being ended", k.hung.Round(time.Second))
}

// wantedBy is the processor time that the threads of a process have taken or waited for (/proc/<pid>/schedstat,
// Documentation/scheduler/sched-stats.rst), and whether one of them waits for a disk now.
func wantedBy(pid int) (wanted time.Duration, disk bool) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return 0, false
	}
	for _, thread := range threads {
		var ran, waited time.Duration
		if data, err := os.ReadFile(filepath.Join(thread, "schedstat")); err == nil {
			_, _ = fmt.Sscan(string(data), (*int64)(&ran), (*int64)(&waited))
		}
		wanted += ran + waited
		if data, err := os.ReadFile(filepath.Join(thread, "stat")); err == nil { // or the thread is gone
			st, err := parseStat(data)
			disk = disk || err == nil && st.state == 'D'
		}
	}
	return wanted, disk
}
