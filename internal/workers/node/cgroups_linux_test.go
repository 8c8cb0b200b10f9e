package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
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
