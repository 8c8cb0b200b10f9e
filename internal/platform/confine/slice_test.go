package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestShortenSlices: all threads of a program have the shortest slice, and its nice value as before.
func TestShortenSlices(t *testing.T) {
	program := exec.Command("nice", "-n", "3", os.Args[0])
	program.Env = append(os.Environ(), "KQUEEN_TEST_HAS_THREADS=1")
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	pid := program.Process.Pid
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
		threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
		if err != nil || len(threads) < 2 {
			t.Fatalf("threads: %v, %v", threads, err)
		}
		for _, thread := range threads {
			tid, err := strconv.Atoi(thread.Name())
			if err != nil {
				t.Fatal(err)
			}
			got, err := unix.SchedGetAttr(tid, 0)
			if err != nil || got.Runtime != want || got.Nice != before.Nice || got.Policy != before.Policy {
				t.Errorf("thread %d: %+v, %v; before %+v", tid, got, err, before)
			}
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := program.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := ShortenSlices(pid); err != nil {
		t.Errorf("a program that has ended: %v", err)
	}
}
