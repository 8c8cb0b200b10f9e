package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// inner is the cgroup below that of a machine which is the machine's own: it sees it as the root. The limits are above it.
const inner = "/node"

// system is the cgroup of the machine's programs, below its own. Only version 2 needs it: there a cgroup with others below it
// has no processes.
const system = "/system"

// devices that every machine has: null, zero, full, random, urandom, tty, the terminals of containers, and the two that were
// made for users without rights, tun and fuse.
func devices() []string {
	return []string{
		"c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm", "c 5:0 rwm", "c 5:2 rwm", "c 136:* rwm", "c 10:200 rwm", "c 10:229 rwm",
	}
}

// settings are those of a machine's cgroup. It is pure.
func (l Limits) settings(v2 bool) []setting {
	all := bounds(l.Size, v2)
	if l.PIDs > 0 {
		all = append(all, setting{"pids", "pids.max", strconv.FormatInt(l.PIDs, 10)})
	}
	if l.Devices && !v2 {
		all = append(all, setting{"devices", "devices.deny", "a"})
		for _, device := range devices() {
			all = append(all, setting{"devices", "devices.allow", device})
		}
	}
	return all
}

// MakeMachineCgroup makes the cgroup of a machine, such as "/kqueen/<uid>", with its limits, and below it one that belongs to
// the user of the host who is root of the machine.
func MakeMachineCgroup(path string, l Limits, owner int) error {
	if err := MakeCgroups(path); err != nil {
		return err
	}
	v2 := CgroupV2()
	for _, s := range l.settings(v2) {
		file := filepath.Join(controllerDir(s.controller, v2), path, s.file)
		err := os.WriteFile(file, []byte(s.value), 0)
		if errors.Is(err, fs.ErrNotExist) && s.controller != "memory" { // this kernel has not the controller
			continue
		}
		if err != nil {
			return fmt.Errorf("bound cgroup %s: %w", path, err)
		}
	}
	if err := MakeCgroups(path + inner); err != nil {
		return err
	}
	dirs, err := hierarchies()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := delegate(filepath.Join(dir, path+inner), owner); err != nil {
			return fmt.Errorf("hand over cgroup %s: %w", path, err)
		}
	}
	return nil
}

func controllerDir(controller string, v2 bool) string {
	if v2 {
		return cgroupRoot
	}
	return filepath.Join(cgroupRoot, controller)
}

// delegate gives a cgroup to a user, who can then divide it and not change it (cgroups(7), "Delegation").
func delegate(dir string, owner int) error {
	for _, name := range []string{".", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "tasks"} {
		if err := os.Chown(filepath.Join(dir, name), owner, owner); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// EnterCgroup puts a process into the cgroup that is its machine's own.
func EnterCgroup(path string, pid int) error { return enter(path+inner, pid) }

func enter(path string, pid int) error {
	dirs, err := hierarchies()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := os.WriteFile(filepath.Join(dir, path, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("enter cgroup %s: %w", path, err)
		}
	}
	return nil
}

// Populate makes room for pods beside the machine's programs, once process 1 sees the cgroup that it is in as its root.
func Populate(path string, pid int) error {
	if !CgroupV2() {
		return nil
	}
	dir := filepath.Join(cgroupRoot, path+inner)
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir+system, info.Mode().Perm()); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := enter(path+inner+system, pid); err != nil {
		return err
	}
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for c := range strings.FieldsSeq(string(controllers)) {
		err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0)
		if err != nil && slices.Contains([]string{"cpu", "memory", "pids"}, c) {
			return err
		}
	}
	return nil
}

// Hierarchies are the cgroups of this host as a machine mounts them for itself.
type Hierarchies struct {
	Unified bool `json:"unified,omitempty"`
	// Controllers are the hierarchies of version 1, with those that only name processes: containerd asks for all of them.
	Controllers []Hierarchy `json:"controllers,omitempty"`
	// Links are other names of their folders.
	Links map[string]string `json:"links,omitempty"`
}

// Hierarchy is a hierarchy of version 1.
type Hierarchy struct {
	// Dir is its folder below /sys/fs/cgroup, and Options its controllers.
	Dir     string `json:"dir"`
	Options string `json:"options"`
}

// ReadHierarchies finds those of this host.
func ReadHierarchies() (Hierarchies, error) {
	if CgroupV2() {
		return Hierarchies{Unified: true}, nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Hierarchies{}, fmt.Errorf("find cgroups: %w", err)
	}
	h := Hierarchies{Controllers: controllersIn(string(mounts)), Links: map[string]string{}}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return Hierarchies{}, fmt.Errorf("find cgroups: %w", err)
	}
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(cgroupRoot, e.Name())); err == nil && e.Type()&fs.ModeSymlink != 0 {
			h.Links[e.Name()] = to
		}
	}
	return h, nil
}

// controllersIn reads a list of mounts (proc_pid_mountinfo(5)). It is pure.
func controllersIn(mountinfo string) []Hierarchy {
	var all []Hierarchy
	for line := range strings.Lines(mountinfo) {
		left, right, _ := strings.Cut(line, " - ")
		at, of := strings.Fields(left), strings.Fields(right)
		const point, kind, options = 4, 0, 2
		if len(at) <= point || len(of) <= options || of[kind] != "cgroup" || filepath.Dir(at[point]) != cgroupRoot {
			continue
		}
		var controllers []string
		for option := range strings.SplitSeq(of[options], ",") {
			switch {
			case strings.HasPrefix(option, "name="):
				controllers = append(controllers, "none", option)
			case !slices.Contains([]string{"rw", "ro", "xattr", "clone_children", "noprefix", "cpuset_v2_mode"}, option) && !strings.Contains(option, "="):
				controllers = append(controllers, option)
			}
		}
		if len(controllers) > 0 {
			all = append(all, Hierarchy{Dir: filepath.Base(at[point]), Options: strings.Join(controllers, ",")})
		}
	}
	slices.SortFunc(all, func(a, b Hierarchy) int { return cmp.Compare(a.Dir, b.Dir) })
	return all
}
