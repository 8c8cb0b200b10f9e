package confine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/osthread"
)

// holds says whether a thread is in the background.
func (b *Background) holds(t *testing.T, tid int) bool {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(tid, &set); err != nil {
		t.Error(err) // on a thread that is not the test's, too
	}
	return set.Count() < b.all.Count()
}

// programWithThreads starts this test as a program that has several threads, until end is called.
func programWithThreads(t *testing.T, command ...string) (pid int, end func()) {
	t.Helper()
	program := exec.Command(command[0], command[1:]...)
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
	return program.Process.Pid, func() {
		if err := errors.Join(in.Close(), program.Wait()); err != nil {
			t.Fatal(err)
		}
	}
}

// threadsOf are those of a program that has several.
func threadsOf(t *testing.T, pid int) (tids []int) {
	t.Helper()
	threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil || len(threads) < 2 {
		t.Fatalf("threads: %v, %v", threads, err)
	}
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		tids = append(tids, tid)
	}
	return tids
}

// TestPut puts all threads of a program into the background, and takes them back.
func TestPut(t *testing.T) {
	b, err := NewBackground()
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	for processor := range 1024 { // as many as a set has
		if b.Has(processor) {
			left++
		}
	}
	if want := max(1, b.all.Count()-1); left != want {
		t.Errorf("%d processors are for the background, want %d", left, want)
	}
	pid, end := programWithThreads(t, os.Args[0])
	for _, so := range []bool{true, true, false} {
		if err := b.Put(pid, so); err != nil {
			t.Fatal(err)
		}
		for _, tid := range threadsOf(t, pid) {
			if got, want := b.holds(t, tid), so && b.all.Count() > 1; got != want { // one processor is the same for all
				t.Errorf("thread %d: in the background: %t, want %t", tid, got, want)
			}
		}
	}
	end()
	if err := b.Put(pid, true); err != nil {
		t.Errorf("a program that has ended: %v", err)
	}
}

// TestMain is the program of TestPut and TestLeave where the environment says so: it has several threads, and ends with its standard input.
func TestMain(m *testing.M) {
	if os.Getenv("KQUEEN_TEST_HAS_THREADS") == "" {
		os.Exit(m.Run())
	}
	_, _ = os.Stdout.WriteString(".")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// TestLeave: all threads of this process are in the background, and what a thread starts that has left it is not.
func TestLeave(t *testing.T) {
	b, err := NewBackground()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Put(os.Getpid(), false); err != nil || b.holds(t, os.Getpid()) {
			t.Errorf("this process is in the background: %v", err)
		}
	})
	if err := b.Put(os.Getpid(), true); err != nil {
		t.Fatal(err)
	}
	if got, want := b.holds(t, os.Getpid()), b.all.Count() > 1; got != want {
		t.Errorf("this process is in the background: %t, want %t", got, want)
	}
	started := make(chan error)
	osthread.Spend(func() {
		if err := b.Leave(); err != nil {
			t.Error(err)
		}
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "KQUEEN_TEST_HAS_THREADS=1")
		started <- errors.Join(child.Start(), func() error {
			if b.holds(t, child.Process.Pid) {
				return errors.New("what was started is in the background")
			}
			return child.Wait()
		}())
	})
	if err := <-started; err != nil {
		t.Error(err)
	}
}
