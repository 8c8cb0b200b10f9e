package supervise

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/health"
)

// machineOf describes a component that starts another one within it.
func machineOf(id string) Workload {
	outer := program("outer", "-touch", "outer-starts", "-starts", StartSocket("outer"))
	inner := program("inner")
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
	for kind, shared := range map[string]bool{"pid": false, "mnt": false, "net": true} {
		if got := namespace(t, inner.PID, kind) == namespace(t, os.Getpid(), kind); got != shared {
			t.Errorf("the inner one shares namespace %s with us: %v", kind, got)
		}
		if namespace(t, outer.PID, kind) != namespace(t, os.Getpid(), kind) {
			t.Errorf("the outer one has namespace %s of its own", kind)
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

	// What ends is started again within.
	if err := unix.Kill(inner.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s = await(t, r, "a", func(s Status) bool {
		i, _ := s.Component("inner")
		return s.Ready() && i.PID != inner.PID
	})
	inner, _ = s.Component("inner")
	if inner.LastExit == nil || inner.LastExit.Signal != "killed" {
		t.Errorf("its end is %+v, want the signal", inner.LastExit)
	}

	// With the outer one the inner one ends, and comes back in the new namespaces.
	if err := unix.Kill(outer.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s = await(t, r, "a", func(s Status) bool {
		o, _ := s.Component("outer")
		i, _ := s.Component("inner")
		return s.Ready() && o.PID != outer.PID && i.PID != inner.PID
	})
	newInner, _ := s.Component("inner")
	if newInner.State != health.Ready || namespace(t, newInner.PID, "pid") == namespace(t, os.Getpid(), "pid") {
		t.Errorf("the inner one is %+v, want it within", newInner)
	}
}

// TestBelieved: marks are worth what the process that carries them cannot have made up.
func TestBelieved(t *testing.T) {
	const root, other = 0, 100000
	of := func(instance, workload, component string) marks {
		return marks{instance: instance, workload: workload, component: component, spec: "s"}
	}
	at := func(user, parent int, pids ...int) place { return place{user: user, parent: parent, pids: pids} }
	process := func(m marks, p place, space string) candidate {
		return candidate{found: found{marks: m, pid: p.pids[0]}, place: p, marked: m != marks{}, space: space}
	}
	outer := process(of("i", "a", "machine"), at(root, 1, 10), "")
	first := process(marks{}, at(other, 10, 11, 1), "A")
	neighbour := process(of("i", "b", "machine"), at(root, 1, 20), "")
	itsFirst := process(marks{}, at(other, 20, 21, 1), "B")
	old := process(of("i", "c", "machine"), at(root, 1, 30, 1), "C")
	for name, c := range map[string]struct {
		reason string
		add    []candidate
		want   []int
	}{
		"ours":                 {"what we started", nil, []int{10, 20, 30}},
		"component":            {"process 1 of the machine started it", []candidate{process(of("i", "a", "kubelet"), at(other, 11, 12, 7), "A")}, []int{10, 12, 20, 30}},
		"without user space":   {"also where a machine has our user", []candidate{process(of("i", "a", "kubelet"), at(root, 11, 12, 7), "A")}, []int{10, 12, 20, 30}},
		"of an earlier KQueen": {"its process 1 carried the marks", []candidate{process(of("i", "c", "kubelet"), at(root, 1, 31, 7), "C")}, []int{10, 20, 30, 31}},
		"foreign workload":     {"a pod makes itself a control plane's program", []candidate{process(of("i", "etcd", "etcd"), at(root, 11, 12, 7), "A")}, []int{10, 20, 30}},
		"neighbour's":          {"a pod makes itself another machine's kubelet", []candidate{process(of("i", "b", "kubelet"), at(root, 11, 12, 7), "A")}, []int{10, 20, 30}},
		"machine itself":       {"it would be taken for what made it", []candidate{process(of("i", "a", "machine"), at(root, 11, 12, 7), "A")}, []int{10, 20, 30}},
		"another installation": {"its namespace is ours", []candidate{process(of("j", "a", "kubelet"), at(root, 11, 12, 7), "A")}, []int{10, 20, 30}},
		"unknown namespace":    {"what started it is not known", []candidate{process(of("i", "a", "kubelet"), at(root, 1, 12, 7), "Z")}, []int{10, 20, 30}},
		"first says it itself": {"it has been written over", []candidate{process(of("i", "b", "kubelet"), at(root, 10, 11, 1), "A")}, []int{10, 20, 30}},
		"confined":             {"the book of users says whose it is", []candidate{process(of("i", "cp", "api"), at(confine.FirstUser, 1, 12), "")}, []int{10, 12, 20, 30}},
		"confined, as a maker": {"what is confined makes no machines", []candidate{process(of("i", "a", "machine"), at(confine.FirstUser, 1, 40), ""), process(marks{}, at(other, 40, 41, 1), "X"), process(of("i", "a", "kubelet"), at(other, 41, 42, 7), "X")}, []int{10, 20, 30, 40}},
		"another user":         {"it is not our program", []candidate{process(of("i", "a", "kubelet"), at(other, 1, 12), "")}, []int{10, 20, 30}},
	} {
		t.Run(name, func(t *testing.T) {
			all := append([]candidate{outer, neighbour, itsFirst, old}, c.add...)
			if name != "first says it itself" {
				all = append(all, first)
			}
			got := map[int]bool{}
			for _, f := range believed(all, root) {
				got[f.pid] = true
			}
			want := map[int]bool{}
			for _, pid := range c.want {
				want[pid] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestParsePlace(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		want    place
		problem bool
	}{
		"machine's": {"Name:\ta: b\nPPid:\t7\nUid:\t1\t2\t3\t4\nNSpid:\t12\t1\n", place{user: 2, parent: 7, pids: []int{12, 1}}, false},
		"ours":      {"PPid:\t0\nUid:\t0\t0\t0\t0\nNSpid:\t1\n", place{pids: []int{1}}, false},
		"nothing":   {"", place{}, true},
		"no number": {"NSpid:\tx\n", place{}, true},
		"no parent": {"PPid:\tx\nNSpid:\t1\n", place{}, true},
		"too large": {"Uid:\t0\t4294967296\nNSpid:\t1\n", place{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parsePlace([]byte(c.text))
			if (err != nil) != c.problem {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(place{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	own, err := readPlace(os.Getpid())
	if err != nil || !own.outside() || own.parent != os.Getppid() || own.user != os.Geteuid() {
		t.Errorf("of ourselves: %+v, %v", own, err)
	}
}
