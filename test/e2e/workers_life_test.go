//go:build linux

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netns"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// streams reads a log, runs a command and opens a port, all of which go from the API server to the kubelet.
func (w *workers) streams(t *testing.T) {
	if got := w.kube("logs", "deployment/web"); got != "serving\n" {
		t.Errorf("the log is %q", got)
	}
	if got := w.kubectl(w.config, "hello", "exec", "-i", "db-1", "--", "cat"); got != "hello" {
		t.Errorf("what was written to a command comes back as %q", got)
	}
	forward := w.command(filepath.Join(w.releases, programs.version, "kubectl"), "port-forward", "service/web", ":80", "--kubeconfig", w.config)
	out, err := forward.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = forward.Process.Signal(syscall.SIGTERM)
		_ = forward.Wait() // it was told to end
	}()
	line, err := bufio.NewReader(out).ReadString('\n') // Forwarding from 127.0.0.1:40000 -> 8080
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ")
	if err := page("http://" + address + "/"); err != nil {
		t.Errorf("through the forwarded port (%q): %v", line, err)
	}
}

// surviveUpgrade kills KQueen, puts another build in its place and starts that.
func (w *workers) surviveUpgrade() {
	w.t.Helper()
	const version = "v0.0.0-next"
	before := w.startedContainers()
	all := func(workloadStatus, componentStatus) bool { return true }
	programs := w.supervised(all)
	w.halt()
	if err := controlplanetest.Upgrade(w.t.Context(), w.program, version); err != nil {
		w.t.Fatal(err)
	}
	w.up()
	if out := w.ok("status"); !strings.Contains(out, version) {
		w.t.Errorf("not upgraded to %s: %s", version, out)
	}
	if diff := cmp.Diff(before, w.containers()); diff != "" {
		w.t.Errorf("pods were restarted (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(programs, w.supervised(all)); diff != "" {
		w.t.Errorf("programs were restarted (-before +after):\n%s", diff)
	}
}

// surviveCrash kills the kubelet and containerd of a machine: they come back, and the pods never went.
func (w *workers) surviveCrash(m v1alpha1.Machine) {
	w.t.Helper()
	before := w.startedContainers()
	var old []int
	for _, component := range []string{"kubelet", "containerd", "kube-proxy"} {
		pid := w.pid(m.Namespace+"/"+m.Name, component)
		old = append(old, pid)
		kill(w.t, pid)
	}
	eventually(w.t, "the programs of the machine run again", func(context.Context) error {
		for n, component := range []string{"kubelet", "containerd", "kube-proxy"} {
			if pid := w.pidOf(m.Namespace+"/"+m.Name, component); pid == 0 || pid == old[n] {
				return fmt.Errorf("%s does not", component)
			}
		}
		return nil
	})
	w.ok("nodepool", "wait", "demo")
	w.kube("wait", "--for=condition=Ready", "pod", "-l", "app in (web, db, agent)", "--timeout=6m")
	if diff := cmp.Diff(before, w.containers()); diff != "" {
		w.t.Errorf("pods were restarted (-before +after):\n%s", diff)
	}
}

// surviveDeath kills process 1 of a machine, and with it everything in the machine: its pool is not ready until the kubelet of
// the next life says so, and its pods run again soon. A kubelet that finds cgroups of an earlier life takes a minute and longer.
func (w *workers) surviveDeath(t *testing.T, m v1alpha1.Machine) {
	onIt := func() map[string]bool {
		out := w.kube("get", "pods", "-l", "app in (web, db, agent)", "--field-selector", "spec.nodeName="+m.Name, "-o",
			`jsonpath={range .items[*]}{range .status.containerStatuses[*]}{.containerID}{" "}{.ready}{"\n"}{end}{end}`)
		containers := map[string]bool{}
		for line := range strings.Lines(out) {
			id, ready, _ := strings.Cut(strings.TrimSpace(line), " ")
			containers[id] = ready == "true"
		}
		return containers
	}
	before := onIt()
	if there := cgroupsOf(t, before); len(there) < len(before) {
		t.Fatalf("%d containers have the cgroups %v", len(before), there)
	}
	kill(t, w.pid(m.Namespace+"/"+m.Name, "machine"))
	begin := time.Now()
	eventually(t, "KQueen notices", func(context.Context) error {
		for _, now := range w.machines() {
			ready := apimeta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReady)
			if now.Name == m.Name && (ready == nil || ready.LastTransitionTime.Time.Before(begin.Truncate(time.Second))) {
				return errors.New("the machine's condition is of before")
			}
		}
		return nil
	})
	w.ok("nodepool", "wait", "demo")
	said := w.kube("get", "node", m.Name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].lastHeartbeatTime}`)
	if at, err := time.Parse(time.RFC3339, said); err != nil || at.Before(begin) {
		t.Errorf("the pool is ready, and the kubelet has said nothing since the machine ended: %q, %v", said, err)
	}
	if left := cgroupsOf(t, before); len(left) > 0 {
		t.Errorf("the pool is ready, and of the containers that ended there are still the cgroups, for which the kubelet waits: %v", left)
	}
	eventually(t, "the pods of the machine run again", func(context.Context) error {
		now := onIt()
		if len(now) < len(before) {
			return fmt.Errorf("%d containers, were %d", len(now), len(before))
		}
		for id, ready := range now {
			if _, old := before[id]; old || !ready {
				return fmt.Errorf("container %s is of before: %t, and ready: %t", id, old, ready)
			}
		}
		return nil
	})
	t.Logf("process 1 of a machine killed: its %d containers are ready again after %.1fs", len(before), time.Since(begin).Seconds())
}

// cgroupsOf finds the cgroups of containers.
func cgroupsOf(t *testing.T, containers map[string]bool) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) { // one that ends meanwhile
			return nil
		}
		if err != nil || !entry.IsDir() {
			return err
		}
		for id := range containers {
			if _, hash, _ := strings.Cut(id, "://"); hash != "" && strings.Contains(entry.Name(), hash) {
				found = append(found, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// stopAll has everything end in order, and wants nothing left of it.
func (w *workers) stopAll(t *testing.T) {
	w.ok("down")
	if left := w.processes(); len(left) > 0 {
		t.Errorf("still runs: %v", left)
	}
	if left := w.traces(t); len(left) > 0 {
		t.Errorf("left on the host: %v", left)
	}
}

// killAll is what a power failure does to processes; links, mounts and cgroups are left, as none is after one.
func (i *installation) killAll(t *testing.T) {
	i.halt() // first, or it starts the others again
	for _, p := range i.processes() {
		kill(t, p.pid)
	}
	if left := i.processes(); len(left) > 0 {
		t.Errorf("survived: %v", left)
	}
}

// comeBack stops everything and starts it again. Meanwhile the networks of machines are held, as a busy kernel does that
// has not yet come to remove them: what leads to them is gone nevertheless.
func (w *workers) comeBack(t *testing.T, stop func(*testing.T)) {
	var held []netns.NsHandle
	for _, m := range w.machines() {
		network, err := netns.GetFromPid(w.pid(m.Namespace+"/"+m.Name, "kubelet")) // its process "machine" is one of the host
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, network)
	}
	stop(t)
	for _, network := range held {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	}
	begin := time.Now()
	w.up()
	w.ok("nodepool", "wait", "demo")
	w.wantOfThisLife(t, begin)
	w.kube("wait", "--for=condition=Ready", "pod", "-l", "app in (web, db, agent)", "--timeout=6m")
	// What Kubernetes says of pods is at first what it said before everything stopped.
	eventually(t, "everything is reached again", func(context.Context) error { return errors.Join(w.reach(), w.reachFromAPIServer()) })
}

// wantOfThisLife wants every node ready by the word of a kubelet that has begun since a moment, and every machine begun since:
// what Kubernetes says of a node whose kubelet ended is that it is as ready as it was, for most of a minute.
func (w *workers) wantOfThisLife(t *testing.T, begin time.Time) {
	begin = begin.Truncate(time.Second) // as what Kubernetes says
	said := w.kube("get", "nodes", "-o", `jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status} `+
		`{.status.conditions[?(@.type=="Ready")].lastHeartbeatTime} {.status.conditions[?(@.type=="Ready")].message}{"\n"}{end}`)
	nodes := 0
	for line := range strings.Lines(said) {
		nodes++
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[1] != "True" {
			t.Errorf("everything began at %s, the pool is ready, and a node is not: %q", begin.Format(time.RFC3339), line)
			continue
		}
		if at, err := time.Parse(time.RFC3339, fields[2]); err != nil || at.Before(begin) {
			t.Errorf("the pool is ready, and the kubelet of a node has said nothing since %s: %q, %v", begin.Format(time.RFC3339), line, err)
		}
	}
	machines := w.machines()
	if nodes != len(machines) {
		t.Errorf("%d nodes of %d machines", nodes, len(machines))
	}
	for _, m := range machines {
		if m.Status.LifeTransitionTime == nil || m.Status.LifeTransitionTime.Time.Before(begin) {
			t.Errorf("the pool is ready, and machine %s is of an earlier life: %v", m.Name, m.Status.LifeTransitionTime)
		}
	}
}

// scale goes down, to nothing, and up again.
func (w *workers) scale() {
	w.t.Helper()
	for _, n := range []int{1, 3, 1, 0, 2} {
		w.ok("nodepool", "scale", "demo", "--nodes", fmt.Sprint(n), "--wait")
		w.wantNodes(n)
	}
	w.kube("rollout", "status", "deployment/web", "--timeout=6m")
}
