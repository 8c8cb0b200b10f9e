package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Slice is how long a program runs for which [ShortSlices] is set while others wait for its processor: the least that Linux takes (0.1 ms, since
// 6.12; usually it is 1.4 ms and more, kernel/sched/fair.c). One that is [Limits.Idle] has a processor that long, too, when the kernel's account says
// for a moment that it is its turn.
const Slice = 100 * time.Microsecond

// ShortSlices has all threads of a process, and those that they start, run for a Slice at a time. Where the kernel, or
// the container in which KQueen runs, does not let us, it stays as it is.
func ShortSlices(pid int) error {
	// A thread that is not yet set may start another one meanwhile.
	for range 5 {
		set, err := shortSlices(pid)
		if err != nil || !set {
			return gone(err)
		}
	}
	return nil
}

// shortSlices says whether it has changed a thread.
func shortSlices(pid int) (set bool, err error) {
	threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil {
		return false, err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return false, err
		}
		changed, err := shortSlice(id)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return false, fmt.Errorf("thread %d: %w", id, err)
		}
		set = set || changed
	}
	return set, nil
}

func shortSlice(thread int) (set bool, err error) {
	attr, err := unix.SchedGetAttr(thread, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return false, nil
	}
	if err != nil || attr.Policy != unix.SCHED_NORMAL || attr.Runtime == uint64(Slice) {
		return false, err
	}
	attr.Runtime = uint64(Slice)
	return true, unix.SchedSetAttr(thread, attr, 0)
}
