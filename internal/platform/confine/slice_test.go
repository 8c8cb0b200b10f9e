package confine

import (
	"errors"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/osthread"
)

// TestShortSlices sets them for this process, and looks at all its threads and at one that starts afterwards.
func TestShortSlices(t *testing.T) {
	before, err := unix.SchedGetAttr(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if before.Runtime == 0 {
		t.Skip("this kernel tells no slices, and takes none")
	}
	if err := ShortSlices(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		attr, err := unix.SchedGetAttr(id, 0)
		if errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil || attr.Runtime != uint64(Slice) {
			t.Errorf("thread %d has %+v, %v, want slices of %s", id, attr, err, Slice)
		}
	}
	later := make(chan uint64)
	osthread.Spend(func() {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Error(err)
			attr = &unix.SchedAttr{}
		}
		later <- attr.Runtime
	})
	if got := <-later; got != uint64(Slice) {
		t.Errorf("a later thread runs for %d ns at a time, want %s", got, Slice)
	}
}

// TestShortSlicesOfNone: a process that has ended is no failure.
func TestShortSlicesOfNone(t *testing.T) {
	if err := ShortSlices(1 << 29); err != nil {
		t.Error(err)
	}
}
