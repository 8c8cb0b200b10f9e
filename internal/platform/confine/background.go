package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Background is where programs of this host run that others are not to feel: all processors but one, which the others find free. What a
// process starts inherits its place; see [Background.Leave].
type Background struct{ all, fewer unix.CPUSet }

// NewBackground looks at the processors that the calling thread may use. With one, programs in the background share it with the others.
func NewBackground() (*Background, error) {
	b := &Background{}
	if err := unix.SchedGetaffinity(0, &b.all); err != nil {
		return nil, fmt.Errorf("look which processors KQueen may use: %w", err)
	}
	b.fewer = b.all
	if b.all.Count() > 1 {
		first := 0
		for !b.all.IsSet(first) {
			first++
		}
		b.fewer.Clear(first)
	}
	return b, nil
}

// Put has all threads of a process run in the background, or takes them back. A process that is gone is no error.
func (b *Background) Put(pid int, so bool) error {
	to := &b.all
	if so {
		to = &b.fewer
	}
	return eachThread(pid, func(tid int) error { return unix.SchedSetaffinity(tid, to) })
}

// Has says whether a processor is one that programs in the background may use.
func (b *Background) Has(processor int) bool { return b.fewer.IsSet(processor) }

// Leave takes the calling thread out of the background, so that a program that it starts does not inherit that.
func (b *Background) Leave() error { return unix.SchedSetaffinity(0, &b.all) }

// eachThread calls f for each thread of a process, until there is no new one: a thread that f was not called for may have begun another.
func eachThread(pid int, f func(tid int) error) error {
	done := map[string]bool{}
	for more := true; more; {
		more = false
		threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
		if err != nil {
			return gone(err)
		}
		for _, thread := range threads {
			tid, err := strconv.Atoi(thread.Name())
			if err != nil || done[thread.Name()] {
				continue
			}
			done[thread.Name()], more = true, true
			if err := gone(f(tid)); err != nil {
				return fmt.Errorf("thread %d of process %d: %w", tid, pid, err)
			}
		}
	}
	return nil
}
