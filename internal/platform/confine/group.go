package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Limits are what programs may use together.
type Limits struct {
	Memory int64 // bytes; 0: as much as there is
	Weight int   // share of the processors while all are busy, 1 to 10000; 0: 100, which is what a usual process has
	Tasks  int   // processes and threads; 0: as many as the host takes
	Idle   bool  // only what no other process wants of the processors, whatever Weight says
	// GivesWay is for programs that are put behind others like them while they use more than these ([Group.PutBehind]).
	GivesWay bool
}

// Group is a cgroup for programs that belong together, named so that it is KQueen's alone. It lies beside the others of
// the host and not below one of KQueen's, so that many groups get more of the processors than one.
type Group struct{ name string }

// NewGroup names a cgroup; it is made when something is put into it.
func NewGroup(name string) Group { return Group{"kqueen-" + name} }

// cgroups is where they are mounted, of either version.
const cgroups = "/sys/fs/cgroup"

// unified says whether the host has version 2 alone.
func unified() bool {
	var st unix.Statfs_t
	return unix.Statfs(cgroups, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
}

// setting is what a file of a cgroup is to hold.
type setting struct {
	controller, file, value string
	lacking                 bool // kernels that have no such file mean the same
}

// settings are the limits in the words of a version. It is pure.
func (l Limits) settings(v2 bool) []setting {
	most := func(n int64, none string) string {
		if n <= 0 {
			return none
		}
		return strconv.FormatInt(n, 10)
	}
	weight := l.Weight
	if weight <= 0 {
		weight = 100
	}
	weight = min(weight, 10000)
	memory, share := setting{"memory", "memory.limit_in_bytes", most(l.Memory, "-1"), false}, setting{"cpu", "cpu.shares", strconv.Itoa(max(2, weight*1024/100)), false}
	if v2 {
		memory, share = setting{"memory", "memory.max", most(l.Memory, "max"), false}, setting{"cpu", "cpu.weight", strconv.Itoa(weight), false}
	}
	processors := []setting{{"cpu", "cpu.idle", "0", true}, share} // a group that is idle takes no weight
	if l.Idle {
		processors = []setting{{"cpu", "cpu.idle", "1", false}}
	}
	return slices.Concat([]setting{memory}, processors, []setting{{"pids", "pids.max", most(int64(l.Tasks), "max"), false}})
}

// dir is the group's folder of a controller.
func (g Group) dir(v2 bool, controller string) string {
	if v2 {
		return filepath.Join(cgroups, g.name)
	}
	return filepath.Join(cgroups, controller, g.name)
}

// Hold makes the group, gives it its limits and puts a process with all its threads into it. It may be called again. What
// one controller refuses does not keep the others away.
func (g Group) Hold(pid int, l Limits) error {
	v2 := unified()
	var problems []error
	for _, s := range l.settings(v2) {
		dir := g.dir(v2, s.controller)
		if err := g.set(v2, dir, s); err != nil {
			problems = append(problems, fmt.Errorf("cgroup %s: %w", s.controller, err))
			continue
		}
		if err := write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
			problems = append(problems, fmt.Errorf("cgroup %s: %w", s.controller, err))
		}
	}
	return errors.Join(problems...)
}

func (g Group) set(v2 bool, dir string, s setting) error {
	parent := filepath.Dir(dir)
	if _, err := os.Stat(filepath.Join(parent, "cgroup.procs")); err != nil {
		return errors.New("this host has no such controller")
	}
	if v2 {
		if err := write(filepath.Join(parent, "cgroup.subtree_control"), "+"+s.controller); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	err := write(filepath.Join(dir, s.file), s.value)
	if s.lacking && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Behind are the limits of programs while they are behind others, or are not. It is pure.
func (l Limits) Behind(so bool) Limits {
	l.Idle = l.Idle || so
	return l
}

// PutBehind has the programs of a group get only those processors that no other process of the host wants now, or gives them back the share that
// l says. A group that is not there is left alone. The error is [errors.ErrUnsupported] on kernels that cannot do it (before Linux 5.15).
func (g Group) PutBehind(so bool, l Limits) error {
	v2 := unified()
	for _, s := range l.Behind(so).settings(v2) {
		if s.controller != "cpu" {
			continue
		}
		dir := g.dir(v2, s.controller)
		err := write(filepath.Join(dir, s.file), s.value)
		if errors.Is(err, fs.ErrNotExist) {
			if _, gone := os.Stat(dir); errors.Is(gone, fs.ErrNotExist) {
				return nil
			}
			err = fmt.Errorf("%s: %w", s.file, errors.ErrUnsupported)
		}
		if err != nil {
			return fmt.Errorf("cgroup cpu: %w", err)
		}
	}
	return nil
}

// write writes to a file of the kernel, which is none on a disk.
func write(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// Release removes the group, in which nothing may run any more. The kernel may need a moment for those that have just
// ended; while it does, Release waits, until ctx ends.
func (g Group) Release(ctx context.Context) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	v2 := unified()
	for _, controller := range []string{"memory", "cpu", "pids"} {
		for {
			err := unix.Rmdir(g.dir(v2, controller))
			if err == nil || slices.Contains([]error{unix.ENOENT, unix.ENOTDIR, unix.EROFS, unix.EACCES, unix.EPERM}, err) {
				break // or it never could be made
			}
			if !errors.Is(err, unix.EBUSY) {
				return fmt.Errorf("remove cgroup %s: %w", g.name, err)
			}
			select {
			case <-again.C:
			case <-ctx.Done():
				return fmt.Errorf("remove cgroup %s: %w", g.name, ctx.Err())
			}
		}
	}
	return nil
}
