package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ticks per second of every clock in /proc: USER_HZ, 100 on all Linux systems Go runs on (proc_pid_stat(5)).
const ticks = 100

// stat is what we read from /proc/<pid>/stat (proc_pid_stat(5)).
type stat struct {
	state   byte
	session int
	flags   uint64
	cpu     uint64 // utime + stime, in ticks
	start   uint64 // in ticks after boot
	status  uint32 // wait status of a zombie
}

// dead reports a zombie or a process past that.
func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

// stopped reports a process that a signal has stopped. One that a debugger holds is in another state.
func (s stat) stopped() bool { return s.state == 'T' }

// kernel reports a kernel thread (PF_KTHREAD in include/linux/sched.h).
func (s stat) kernel() bool { return s.flags&0x00200000 != 0 }

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	s, err := parseStat(b)
	if err != nil {
		return stat{}, fmt.Errorf("stat of %d: %w", pid, err)
	}
	return s, nil
}

// parseStat skips to the last ')': the program's name before it may hold anything, blanks and parentheses included.
func parseStat(b []byte) (stat, error) {
	i := bytes.LastIndexByte(b, ')')
	f := bytes.Fields(b[i+1:])
	if i < 0 || len(f) < 20 || len(f[0]) != 1 {
		return stat{}, errors.New("malformed")
	}
	s := stat{state: f[0][0]}
	var utime, stime uint64
	var errs [5]error
	s.session, errs[0] = strconv.Atoi(string(f[3]))
	s.flags, errs[1] = strconv.ParseUint(string(f[6]), 10, 64)
	utime, errs[2] = strconv.ParseUint(string(f[11]), 10, 64)
	stime, errs[3] = strconv.ParseUint(string(f[12]), 10, 64)
	s.start, errs[4] = strconv.ParseUint(string(f[19]), 10, 64)
	s.cpu = utime + stime
	if len(f) >= 50 { // exit_code, field 52, the last one since Linux 3.5
		status, err := strconv.ParseUint(string(f[49]), 10, 32)
		if err != nil {
			return stat{}, err
		}
		s.status = uint32(status)
	}
	return s, errors.Join(errs[:]...)
}

// sinceBoot turns a start time into a point of the wall clock.
func sinceBoot(start uint64) time.Time {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Time{}
	}
	age := time.Duration(now.Nano()) - time.Duration(start)*(time.Second/ticks)
	return time.Now().Add(-age).Round(time.Second / ticks)
}

// readUse measures the process that has this pid and start time; zero when it is gone. RssAnon comes from
// /proc/<pid>/status, which unlike smaps_rollup does not walk the page tables; it leaves out what is swapped.
func readUse(pid int, start uint64) Use {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Use{}
	}
	st, err := readStat(pid)
	if err != nil || st.start != start {
		return Use{}
	}
	use := Use{CPUSeconds: float64(st.cpu) / ticks}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmRSS":
			use.ResidentBytes = kib(value)
		case "RssAnon":
			use.AnonymousBytes = kib(value)
		}
	}
	return use
}

// kib reads "  112 kB\n" as bytes; 0 when it is something else.
func kib(s string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(s), " kB"), 10, 54)
	if err != nil {
		return 0
	}
	return n << 10
}
