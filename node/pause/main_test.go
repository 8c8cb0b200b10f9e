package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain makes this test binary pause when it is called so.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "pause" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestBuriesAndEnds gives pause children that it does not know of, as orphans are handed to the first process of a
// pod, lets them die, and then tells it to end.
func TestBuriesAndEnds(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pause := filepath.Join(t.TempDir(), "pause")
	if err := os.Symlink(self, pause); err != nil {
		t.Fatal(err)
	}
	for _, signal := range []syscall.Signal{unix.SIGTERM, unix.SIGINT} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		// The shell becomes pause. Its children live until the pipe is closed.
		cmd := exec.Command("/bin/sh", "-c", `for i in 1 2 3 4 5 6 7 8; do cat <&3 & done; exec "$0"`, pause)
		cmd.ExtraFiles = []*os.File{read}
		if err := errors.Join(cmd.Start(), read.Close()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		pid := cmd.Process.Pid
		await(t, "it is pause", func() bool {
			name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			return err == nil && string(name) == "pause\n"
		})
		if n := children(t, pid); n != 8 {
			t.Errorf("%d children, want 8", n)
		}
		write.Close()
		await(t, "they are buried", func() bool { return children(t, pid) == 0 })
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", signal, err)
		}
	}
}

// children counts those that are there, dead or alive.
func children(t *testing.T, pid int) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, stat := range stats {
		content, err := os.ReadFile(stat)
		if err != nil {
			continue // it ended
		}
		_, rest, _ := strings.Cut(string(content), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			count++
		}
	}
	return count
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	ticker, deadline := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("not after a minute: %s", what)
		}
	}
}
