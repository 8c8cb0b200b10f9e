package supervise

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// machineOf describes an isolated component and one within it, which has a child of its own.
func machineOf(id string) Workload {
	outer := program("outer", "-touch", "outer-starts")
	outer.Isolated = true
	inner := program("inner", "-child")
	inner.Within = "outer"
	return Workload{ID: id, Components: []Component{outer, inner}}
}

// namespace returns the name of a process's namespace of one kind.
func namespace(t *testing.T, pid int, kind string) string {
	t.Helper()
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestComponentsWithinAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes namespaces")
	}
	t.Parallel()
	dir := t.TempDir()
	r := open(t, config(dir))
	apply(t, r, machineOf("a"))
	s := await(t, r, "a", Status.Ready)
	outer, _ := s.Component("outer")
	inner, _ := s.Component("inner")
	for _, kind := range []string{"pid", "mnt", "uts", "ipc", "net"} {
		if got, want := namespace(t, inner.PID, kind), namespace(t, outer.PID, kind); got != want {
			t.Errorf("namespace %s of the inner one is %s, want the outer one's %s", kind, got, want)
		}
		own := namespace(t, outer.PID, kind) == namespace(t, os.Getpid(), kind)
		if own != (kind == "net") {
			t.Errorf("namespace %s is shared with us: %v", kind, own)
		}
	}

	// Another KQueen finds both, and starts neither again.
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = open(t, config(dir))
	apply(t, r, machineOf("a"))
	s = await(t, r, "a", Status.Ready)
	for name, pid := range map[string]int{"outer": outer.PID, "inner": inner.PID} {
		if c, _ := s.Component(name); c.PID != pid {
			t.Errorf("%s was started again", name)
		}
	}

	// With process 1 all others end, and come back in the new namespaces.
	if err := unix.Kill(outer.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s = await(t, r, "a", func(s Status) bool {
		o, _ := s.Component("outer")
		i, _ := s.Component("inner")
		return s.Ready() && o.PID != outer.PID && i.PID != inner.PID
	})
	newOuter, _ := s.Component("outer")
	newInner, _ := s.Component("inner")
	if got, want := namespace(t, newInner.PID, "pid"), namespace(t, newOuter.PID, "pid"); got != want {
		t.Errorf("the inner one is in %s, want %s", got, want)
	}
	all, _, err := scan(r.instance)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if got, want := namespace(t, f.pid, "pid"), namespace(t, newOuter.PID, "pid"); got != want {
			t.Errorf("%s, process %d, is in %s, want %s: it outlived its process 1", f.component, f.pid, got, want)
		}
	}
}
