package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKillCgroup ends a process in a cgroup below the one that is named, and removes all.
func TestKillCgroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes cgroups")
	}
	path := fmt.Sprintf("/kqueen-test-%d/node", os.Getpid())
	t.Cleanup(func() { _ = RemoveCgroups(path) })
	if err := MakeCgroups(path + "/kubepods"); err != nil {
		t.Fatal(err)
	}
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	dirs, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		procs := filepath.Join(dir, path, "kubepods", "cgroup.procs")
		if err := os.WriteFile(procs, []byte(strconv.Itoa(sleep.Process.Pid)), 0); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Processes(path); err != nil || !slices.Equal(got, []int{sleep.Process.Pid}) {
		t.Errorf("in it are %v, %v; want %d", got, err, sleep.Process.Pid)
	}
	ended := make(chan error, 1)
	go func() { ended <- sleep.Wait() }()
	if err := KillCgroup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the process ended well, and was to be killed")
	}
	if err := RemoveCgroups(path); err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, path)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", filepath.Join(dir, path), err)
		}
	}
	if got, err := Processes(path); err != nil || len(got) > 0 {
		t.Errorf("in a cgroup that is gone are %v, %v", got, err)
	}
}

// TestProcessesIn: process 0 is one that this host cannot name, and to kill it would be to kill the caller's own group.
func TestProcessesIn(t *testing.T) {
	dir := t.TempDir()
	for path, content := range map[string]string{
		"cgroup.procs":          "7\n0\n",
		"pod/cgroup.procs":      "9\n7\nx\n-1\n",
		"pod/a/b/cgroup.procs":  "12\n",
		"going/deep/not.procs":  "13\n",
		"pod/a/cgroup.procs":    "",
		"pod/memory.max":        "14\n",
		"pod/a/b/c/memory.stat": "anon 15\n",
	} {
		file := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	found := map[int]bool{}
	for _, from := range []string{dir, filepath.Join(dir, "missing")} {
		if err := processesIn(from, found); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[int]bool{7: true, 9: true, 12: true}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRemoveTree: cgroups go from the innermost on, and one that is in use is named.
func TestRemoveTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	used := filepath.Join(dir, "pod", "used")
	if err := os.MkdirAll(used, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(used, "file") // which the kernel refuses to remove as it does a process
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(dir); err == nil || !strings.HasPrefix(err.Error(), used+": ") {
		t.Errorf("got %v, want %s named", err, used)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice: nothing is no error
		if err := removeTree(dir); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cgroup is left: %v", err)
	}
}
