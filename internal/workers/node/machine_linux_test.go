package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/workers/machine"
)

func TestControllersIn(t *testing.T) {
	const mounts = `24 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 24 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
32 30 0:28 / /sys/fs/cgroup/systemd rw shared:9 - cgroup cgroup rw,xattr,name=systemd
33 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 master:2 - cgroup cgroup rw,cpu,cpuacct
34 30 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset,clone_children
35 30 0:31 / /srv/cgroup/memory rw - cgroup cgroup rw,memory
36 broken
`
	want := []Hierarchy{{Dir: "cpu,cpuacct", Options: "cpu,cpuacct"}, {Dir: "cpuset", Options: "cpuset"}, {Dir: "systemd", Options: "none,name=systemd"}}
	if diff := cmp.Diff(want, controllersIn(mounts)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMakeMachineCgroup: the kernel of this host takes the limits, which are above what the machine's user may change.
func TestMakeMachineCgroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes cgroups")
	}
	const owner = 0x6ffc0000
	path := fmt.Sprintf("/kqueen-test-bound-%d/machine", os.Getpid())
	t.Cleanup(func() {
		if err := RemoveCgroups(path); err != nil {
			t.Error(err)
		}
	})
	limits := Limits{Size: machine.Size{MilliCPU: 1500, Memory: 512 << 20}, PIDs: 100, Devices: true}
	for range 2 { // again is the same
		if err := MakeMachineCgroup(path, limits, owner); err != nil {
			t.Fatal(err)
		}
		if err := RemoveCgroups(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := MakeMachineCgroup(path, limits, owner); err != nil {
		t.Fatal(err)
	}
	v2 := CgroupV2()
	for _, s := range limits.settings(v2) {
		if s.controller == "devices" {
			continue
		}
		dir := filepath.Join(controllerDir(s.controller, v2), path)
		got, err := os.ReadFile(filepath.Join(dir, s.file))
		if err != nil || strings.TrimSpace(string(got)) != s.value {
			t.Errorf("%s is %q (%v), want %s", s.file, got, err, s.value)
		}
		var above, own, limit unix.Stat_t
		if err := errors.Join(unix.Stat(dir, &above), unix.Stat(dir+inner, &own), unix.Stat(filepath.Join(dir+inner, s.file), &limit)); err != nil {
			t.Fatal(err)
		}
		if above.Uid != 0 || own.Uid != owner || limit.Uid != 0 {
			t.Errorf("%s: the limits belong to %d, the machine's own cgroup to %d, its limits to %d", s.controller, above.Uid, own.Uid, limit.Uid)
		}
	}
	if !v2 {
		allowed, err := os.ReadFile(filepath.Join(cgroupRoot, "devices", path+inner, "devices.list"))
		if err != nil || strings.Contains(string(allowed), "a *:*") || !strings.Contains(string(allowed), "c 1:3 rwm") {
			t.Errorf("devices are %q (%v)", allowed, err)
		}
	}
}

func TestLimits(t *testing.T) {
	show := func(all []setting) []string {
		var lines []string
		for _, s := range all {
			lines = append(lines, s.controller+" "+s.file+"="+s.value)
		}
		return lines
	}
	for name, c := range map[string]struct {
		limits Limits
		v2     bool
		want   []string
	}{
		"none":             {Limits{}, false, nil},
		"memory and pids":  {Limits{Size: machine.Size{Memory: 1 << 30}, PIDs: 8192}, true, []string{"memory memory.max=1073741824", "pids pids.max=8192"}},
		"version 1":        {Limits{Size: machine.Size{Memory: 1 << 30}, PIDs: 8192}, false, []string{"memory memory.limit_in_bytes=1073741824", "pids pids.max=8192"}},
		"devices, unified": {Limits{Devices: true}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, show(c.limits.settings(c.v2))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := show(Limits{Devices: true}.settings(false)); len(got) != 1+len(devices()) || got[0] != "devices devices.deny=a" {
		t.Errorf("everything has to be denied before something is allowed: %v", got)
	}
}
