package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupRoot is where cgroups are mounted, of either version.
const cgroupRoot = "/sys/fs/cgroup"

// CgroupV2 says whether the host has the unified hierarchy alone.
func CgroupV2() bool {
	var st unix.Statfs_t
	return unix.Statfs(cgroupRoot, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
}

// hierarchies are the directories under which a machine's cgroup has to be: one with version 2, one for each
// controller with version 1.
func hierarchies() ([]string, error) {
	if CgroupV2() {
		return []string{cgroupRoot}, nil
	}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return nil, fmt.Errorf("list cgroups: %w", err)
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() { // "cpu" beside "cpu,cpuacct" is a link to it
			dirs = append(dirs, filepath.Join(cgroupRoot, e.Name()))
		}
	}
	return dirs, nil
}

// MakeCgroups makes the cgroup of a machine's pods, such as "/kqueen/<uid>", in every hierarchy: the kubelet wants it
// to be there.
func MakeCgroups(path string) error {
	dirs, err := hierarchies()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		err := makeBelow(dir, path)
		// The last machine of another installation on this host may have taken the common parent with it just now.
		if errors.Is(err, fs.ErrNotExist) {
			err = makeBelow(dir, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeBelow makes a cgroup and its parents in one hierarchy.
func makeBelow(dir, path string) error {
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		parent := dir
		dir = filepath.Join(dir, part)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make cgroup: %w", err)
		}
		if err := inherit(parent, dir); err != nil {
			return fmt.Errorf("set up cgroup %s: %w", dir, err)
		}
	}
	return nil
}

// inherit gives a new cgroup what it does not get by itself: with version 1 the processors and memory nodes,
// without which nothing can enter it, with version 2 the controllers.
func inherit(parent, dir string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && (CgroupV2() || len(bytes.TrimSpace(have)) > 0) {
			continue
		}
		if err != nil {
			return err
		}
		all, err := os.ReadFile(filepath.Join(parent, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), all, 0); err != nil {
			return err
		}
	}
	if !CgroupV2() {
		return nil
	}
	controllers, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for c := range strings.FieldsSeq(string(controllers)) {
		// One at a time: one that cannot be had must not keep the others away.
		err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+c), 0)
		if err != nil && slices.Contains([]string{"cpu", "memory", "pids"}, c) {
			return err
		}
	}
	return nil
}

// killInterval is the time between two looks at processes that were killed.
const killInterval = 20 * time.Millisecond

// KillCgroup kills every process in the cgroup and below it, and waits until they are gone or ctx ends.
func KillCgroup(ctx context.Context, path string) error {
	again := time.NewTicker(killInterval)
	defer again.Stop()
	for {
		pids, err := Processes(path)
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("kill %d: %w", pid, err)
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of %d processes: %w", len(pids), context.Cause(ctx))
		}
	}
}

// Processes are those in the cgroup and below it that this process can see.
func Processes(path string) ([]int, error) {
	dirs, err := hierarchies()
	if err != nil {
		return nil, err
	}
	found := map[int]bool{}
	for _, dir := range dirs {
		if err := processesIn(filepath.Join(dir, path), found); err != nil {
			return nil, fmt.Errorf("list the processes of cgroup %s: %w", path, err)
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// processesIn adds those of one directory and all below it. What is gone meanwhile has none.
func processesIn(dir string, found map[int]bool) error {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.FieldsSeq(string(data)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 0 { // 0 is one of another process namespace
			found[pid] = true
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := processesIn(filepath.Join(dir, e.Name()), found); err != nil {
				return err
			}
		}
	}
	return nil
}

// RemoveCgroups removes the cgroup and all below it. Nothing may run in it any more; while something does, it
// fails and may be called again.
func RemoveCgroups(path string) error {
	dirs, err := hierarchies()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := removeTree(filepath.Join(dir, path)); err != nil {
			return fmt.Errorf("remove cgroup: %w", err)
		}
		// The common parent goes with the last machine.
		if err := unix.Rmdir(filepath.Dir(filepath.Join(dir, path))); err != nil && !slices.Contains([]error{unix.ENOENT, unix.ENOTEMPTY, unix.EBUSY}, err) {
			return fmt.Errorf("remove the parent cgroup: %w", err)
		}
	}
	return nil
}

// removeTree removes directories only: the files in a cgroup are no files.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
