//go:build linux

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bounds looks at a pod that asks for nothing: it has a seccomp profile and a bound on its processes.
func (w *workers) bounds(t *testing.T) {
	if got := strings.Fields(w.kube("exec", "db-1", "--", "grep", "^Seccomp:", "/proc/self/status")); len(got) != 2 || got[1] != "2" {
		t.Errorf("the system calls of a pod are not filtered: %q", got)
	}
	root := "/sys/fs/cgroup/pids"
	if _, err := os.Stat(root); err != nil {
		root = filepath.Dir(root)
	}
	name, found := "pod"+w.kube("get", "pod", "db-1", "-o", "jsonpath={.metadata.uid}"), ""
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == name {
			found = path
			return fs.SkipAll
		}
		return nil // groups come and go
	})
	if err != nil || found == "" {
		t.Fatalf("there is no cgroup %s below %s (%v)", name, root, err)
	}
	if most, err := os.ReadFile(filepath.Join(found, "pids.max")); err != nil || strings.TrimSpace(string(most)) != "4096" {
		t.Errorf("the pod may have %q processes (%v)", most, err)
	}
}
