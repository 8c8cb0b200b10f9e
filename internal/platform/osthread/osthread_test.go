//go:build linux

package osthread

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSpend changes the host name's namespace of many threads, and looks whether the process has it, too. Before
// each of them, everything that runs is made to change its thread.
func TestSpend(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes namespaces")
	}
	process := func() string {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/uts", os.Getpid()))
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	before := process()
	for range 500 {
		runtime.Gosched()
		done := make(chan error)
		Spend(func() {
			if unix.Gettid() == unix.Getpid() {
				done <- fmt.Errorf("runs on the first thread")
				return
			}
			done <- unix.Unshare(unix.CLONE_NEWUTS)
		})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if after := process(); after != before {
		t.Errorf("the process is in %s and was in %s", after, before)
	}
}
