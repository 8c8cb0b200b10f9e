package confine

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// shortSlice is the shortest that Linux takes. What usual programs have is some milliseconds.
const shortSlice = 100 * time.Microsecond

// ShortenSlices has each thread of a process, and those that it begins later, come to a processor as soon as it has something to do, before those
// that run with longer slices, and for a shorter time at once. Its share of the processors stays as it is. It is for programs for which calls wait
// (sched_setattr(2): Linux takes sched_runtime as the slice of usual threads since 6.12, and before has no use for it). A host that refuses it,
// as a sandbox may, is no error, nor is a process that is gone.
func ShortenSlices(pid int) error {
	return eachThread(pid, func(tid int) error {
		err := shorten(tid)
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			return nil
		}
		if gone(err) != nil {
			return fmt.Errorf("shorten the slices of processor time: %w", err)
		}
		return nil
	})
}

func shorten(tid int) error {
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL || attr.Runtime == uint64(shortSlice) {
		return err
	}
	attr.Flags &= unix.SCHED_FLAG_RESET_ON_FORK // bounds of utilization stay as they are
	attr.Runtime = uint64(shortSlice)
	return unix.SchedSetAttr(tid, attr, 0)
}
