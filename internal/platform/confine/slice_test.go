package confine

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestShortenSlices: all threads of a program have the shortest slice, and its nice value as before.
func TestShortenSlices(t *testing.T) {
	pid, end := programWithThreads(t, "nice", "-n", "3", os.Args[0])
	before, err := unix.SchedGetAttr(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := uint64(shortSlice)
	if before.Runtime == 0 { // Linux before 6.12
		want = 0
	}
	for range 2 {
		if err := ShortenSlices(pid); err != nil {
			t.Fatal(err)
		}
		for _, tid := range threadsOf(t, pid) {
			got, err := unix.SchedGetAttr(tid, 0)
			if err != nil || got.Runtime != want || got.Nice != before.Nice || got.Policy != before.Policy {
				t.Errorf("thread %d: %+v, %v; before %+v", tid, got, err, before)
			}
		}
	}
	end()
	if err := ShortenSlices(pid); err != nil {
		t.Errorf("a program that has ended: %v", err)
	}
}
