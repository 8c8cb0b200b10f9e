//go:build linux

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// process is a living process of an installation.
type process struct {
	pid, parent         int
	start               string // of the process, after boot; with pid its identity
	workload, component string // empty for kqueen itself
	args                []string
	environ             []byte
}

func (p process) String() string {
	return fmt.Sprintf("%d (%s %s) %.200s", p.pid, p.workload, p.component, strings.Join(p.args, " "))
}

// processes finds all living ones: those with the installation's mark, and those that name its folder.
func (i *installation) processes() []process {
	i.t.Helper()
	// The runner marks its processes with the hash of its own folder, so that it finds them again.
	sum := sha256.Sum256([]byte(filepath.Join(i.dir, "run")))
	mark := []byte("KQUEEN_INSTANCE=" + hex.EncodeToString(sum[:16]))
	entries, err := os.ReadDir("/proc")
	if err != nil {
		i.t.Fatal(err)
	}
	var all []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A process that ends meanwhile is none, and a dead one that has not been reaped has no arguments.
		arguments, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if !bytes.Contains(environ, mark) && !bytes.Contains(arguments, []byte(i.dir)) {
			continue
		}
		stat := statOf(pid)
		p := process{pid: pid, parent: stat.parent, start: stat.start, environ: environ, args: strings.Split(strings.TrimRight(string(arguments), "\x00"), "\x00")}
		for entry := range strings.SplitSeq(string(environ), "\x00") {
			if v, ok := strings.CutPrefix(entry, "KQUEEN_WORKLOAD="); ok {
				p.workload = v
			}
			if v, ok := strings.CutPrefix(entry, "KQUEEN_COMPONENT="); ok {
				p.component = v
			}
		}
		all = append(all, p)
	}
	return all
}

// killing kills processes whenever they run, until the returned function is called.
func (i *installation) killing(ctx context.Context, dies func(process) bool) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		again := time.NewTicker(look)
		defer again.Stop()
		for {
			for _, p := range i.processes() {
				if dies(p) {
					_ = syscall.Kill(p.pid, syscall.SIGKILL) // it may have ended meanwhile
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-again.C:
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

type stat struct {
	parent int
	start  string // in ticks after boot
}

// statOf is empty for a process that is gone.
func statOf(pid int) stat {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}
	}
	_, behind, _ := strings.Cut(string(data), ") ") // the name may hold anything but comes in brackets
	fields := strings.Fields(behind)
	if len(fields) < 20 {
		return stat{}
	}
	parent, _ := strconv.Atoi(fields[1])
	return stat{parent: parent, start: fields[19]}
}

// running are the identities of the processes that a runner started, as "workload component pid start", in order. What
// these start themselves, such as containerd a runc for each probe, inherits their mark, comes and goes, and is left out.
func (i *installation) running(wanted func(process) bool) []string {
	i.t.Helper()
	all := i.processes()
	component := map[int]string{}
	for _, p := range all {
		component[p.pid] = p.workload + " " + p.component
	}
	var out []string
	for _, p := range all {
		if p.component != "" && component[p.parent] != p.workload+" "+p.component && wanted(p) {
			out = append(out, fmt.Sprintf("%s %s %d %s", p.workload, p.component, p.pid, p.start))
		}
	}
	slices.Sort(out)
	return out
}

// servers are the kqueen processes that serve, or are about to.
func (i *installation) servers() []int {
	i.t.Helper()
	var pids []int
	for _, p := range i.processes() {
		if p.component == "" && slices.Contains(p.args, "--foreground") {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// keepers are the processes that start those again.
func (i *installation) keepers() []int {
	i.t.Helper()
	var pids []int
	for _, p := range i.processes() {
		if p.component == "" && len(p.args) > 1 && p.args[1] == "keep" {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// halt kills KQueen and what would start it again, and leaves alone what it runs.
func (i *installation) halt() {
	i.t.Helper()
	for _, all := range []func() []int{i.keepers, i.servers} { // in this order: a keeper starts a server
		for _, pid := range all() {
			kill(i.t, pid)
		}
	}
}

// kill ends a process as a power failure would, and waits until it has ended.
func kill(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return
	}
	if err != nil {
		t.Fatalf("find process %d: %v", pid, err)
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, syscall.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		t.Fatalf("kill %d: %v", pid, err)
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for begin := time.Now(); time.Since(begin) < patience; {
		if n, _ := unix.Poll(poll, 1000); n > 0 {
			return
		}
	}
	t.Fatalf("process %d does not die", pid)
}
