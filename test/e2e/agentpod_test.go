//go:build linux

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"

	"kqueen.io/kqueen/internal/clusters/tunnel"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// TestAdoptedByAgent: a cluster of another installation, in a network into which nothing dials, is adopted by the one line that KQueen
// prints: its agent is a pod that dials out. Then it is adopted by a kubeconfig. The cluster is seen with its version, its node and its images, a member uses what runs there,
// it is offline when its agent hangs, and letting it go leaves its objects as they were, and the agent without a way in.
func TestAdoptedByAgent(t *testing.T) {
	needRoot(t)
	parallel(t, 3*time.Minute)
	i := newInstallation(t)
	l := i.lan()
	entry := l.entry()
	i.up("--listen", l.gateway.String(), "--import-allow", entry.Addr().String())
	f := l.farAway()
	if r := i.tryKubectl(f.config, "", "get", "namespaces", "--request-timeout", "3s"); r.code == 0 {
		t.Fatal("the cluster can be dialed from the host")
	}
	f.runs(fmt.Sprintf("kubectl create deployment web --image %s -- sh -c 'echo serving; exec sleep 1000000'", testImage(t)))
	f.runs(i.adoptionLine("far"))
	i.ok("cluster", "wait", "far", "--timeout", "3m")
	if got := i.ok("cluster", "get", "far", "-o", "jsonpath={.status.version}"); got != programs.version {
		t.Errorf("it is seen as %q", got)
	}
	before := f.objects()
	w := &workers{installation: i, config: i.kubeconfig("default", "far")}
	f.isObserved(w, "far")
	f.isUsed(t, w)
	f.isSeenByViewer(t)
	f.hangs(t)

	i.ok("cluster", "delete", "far", "--yes", "--wait")
	if diff := cmp.Diff(before, f.objects()); diff != "" || before == "" {
		t.Errorf("its objects are others (-before +after):\n%s", diff)
	}
	eventually(t, "its agent is refused", func(context.Context) error {
		if r := f.tries("kubectl logs -n kqueen deployment/kqueen-agent"); !strings.Contains(r.stdout, "does not know this agent") {
			return fmt.Errorf("it says %s%s", r.stdout, r.stderr)
		}
		return nil
	})

	// The same cluster, by a kubeconfig, as soon as something leads to it. What the import makes in it is its users' to keep.
	f.opens(t, entry)
	i.ok("cluster", "import", "near", "--kubeconfig", f.through(t, entry.Addr().String()), "--service-account", "--members", "--wait", "--timeout", "3m")
	before = f.objects()
	w.config = i.kubeconfig("default", "near")
	f.isObserved(w, "near")
	f.isUsed(t, w)
	i.ok("cluster", "delete", "near", "--yes", "--wait")
	if diff := cmp.Diff(before, f.objects()); diff != "" {
		t.Errorf("its objects are others (-before +after):\n%s", diff)
	}
}

// adoptionLine is what a user runs who has the cluster's kubectl. kqueen says more than that.
func (i *installation) adoptionLine(name string) string {
	i.t.Helper()
	said := i.ok("cluster", "import", name, "--agent", "--members", "--agent-image", agentImage)
	for line := range strings.Lines(said) {
		if strings.HasPrefix(strings.TrimSpace(line), "curl ") {
			return line
		}
	}
	i.t.Fatalf("no line to adopt with in:\n%s", said)
	return ""
}

// far is a cluster of another installation, in a machine that nothing dials.
type far struct {
	*box
	config string // kubeconfig of its administrator
}

// agentImage is the name of the image in cmd/kqueen-agent/image.json.
const agentImage = "kqueen.internal/kqueen-agent:0.1.0"

// farAway makes a machine with an installation and a cluster with one node, which finds the image of the agent.
func (l *lan) farAway() *far {
	l.t.Helper()
	f := &far{box: l.box()}
	f.start("joined.sh", "far")
	dir := filepath.Join(f.dir, "other")
	root, err := controlplanetest.Root()
	if err != nil {
		l.t.Fatal(err)
	}
	plan, err := os.ReadFile(filepath.Join(root, "cmd", "kqueen-agent", "image.json"))
	if err != nil {
		l.t.Fatal(err)
	}
	bringImages(l.t, dir, bytes.ReplaceAll(plan, []byte("../bin/kqueen-agent"), []byte(programs.agent)))
	ok := func(args ...string) string {
		r := f.within(append([]string{programs.kqueen}, append(args, "--data-dir", dir)...)...)
		if r.code != 0 {
			l.t.Fatalf("kqueen %s in the machine: exit code %d:\n%s", strings.Join(args, " "), r.code, r.stderr)
		}
		return r.stdout
	}
	l.t.Cleanup(func() { ok("reset", "--yes") })
	ok(append([]string{"up", "--timeout", "5m"}, ports(l.t)...)...)
	ok("cluster", "create", "far", "--nodes", "1", "--wait", "--timeout", "5m")
	f.config = filepath.Join(f.dir, "far.kubeconfig")
	f.write("far.kubeconfig", ok("cluster", "kubeconfig", "far", "--break-glass"))
	return f
}

// runs runs a line of a shell in the machine, whose kubectl has the cluster.
func (f *far) runs(line string) string {
	f.t.Helper()
	r := f.tries(line)
	if r.code != 0 {
		f.t.Fatalf("%s: exit code %d:\n%s%s", line, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// tries is runs for what may fail.
func (f *far) tries(line string) result {
	f.t.Helper()
	return f.within("env", "KUBECONFIG="+f.config, "PATH="+filepath.Dir(programs.kubectl)+":"+os.Getenv("PATH"), "sh", "-c", line)
}

// objects are those that an adoption could touch, with their versions; of those that have a status, that of what is wanted.
func (f *far) objects() string {
	f.t.Helper()
	return f.runs(`kubectl get namespaces,serviceaccounts,clusterroles,clusterrolebindings -A -o ` +
		`jsonpath='{range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}'
kubectl get deployments,daemonsets -A -o jsonpath='{range .items[*]}{.kind}/{.metadata.name} {.metadata.generation}{"\n"}{end}'`)
}

// isObserved: the inventory has the cluster's node and images.
func (f *far) isObserved(w *workers, name string) {
	f.t.Helper()
	eventually(f.t, "it is observed", func(context.Context) error {
		nodes, images := w.ok("inventory", "nodes", "--cluster", name), w.ok("inventory", "images", "--cluster", name)
		if !strings.Contains(nodes, programs.version) || !strings.Contains(images, agentImage) || !strings.Contains(images, testImage(f.t)) {
			return fmt.Errorf("nodes %s, images %s", nodes, images)
		}
		return nil
	})
}

// isUsed: a member watches, reads logs and runs commands.
func (f *far) isUsed(t *testing.T, w *workers) {
	t.Helper()
	if got := w.kube("auth", "whoami", "-o", "jsonpath={.status.userInfo.groups}"); !strings.Contains(got, "kqueen:cluster-admin") {
		t.Errorf("the member's groups are %s", got)
	}
	if got := w.kube("logs", "deployment/web"); got != "serving\n" {
		t.Errorf("the log is %q", got)
	}
	if got := w.kubectl(w.config, "hello", "exec", "-i", "deployment/web", "--", "cat"); got != "hello" {
		t.Errorf("what was written to a command comes back as %q", got)
	}
	w.watches(t, w.config)
}

// isSeenByViewer: a viewer sees what there is, and neither enters nor changes it.
func (f *far) isSeenByViewer(t *testing.T) {
	t.Helper()
	d := f.api()
	f.setup(d).member("victor")
	f.signIn(d, "root").can("member", "set", "victor", "--role", "viewer", "--org", "default")
	victor, config := f.signIn(d, "victor", "--org", "default"), filepath.Join(f.base, "victor.kubeconfig")
	eventuallyCan(t, victor, "cluster", "kubeconfig", "far", "--kubeconfig-out", config)
	kubectl := func(args ...string) result {
		cmd := victor.command(programs.kubectl, append([]string{"--kubeconfig", config}, args...)...)
		cmd.Env = append(cmd.Env, "KQUEEN_CONFIG="+victor.config)
		return victor.run(cmd)
	}
	if r := kubectl("get", "pods", "-o", "name"); r.code != 0 || !strings.Contains(r.stdout, "pod/web-") {
		t.Errorf("a viewer sees %q: %s", r.stdout, r.stderr)
	}
	for _, refused := range [][]string{{"exec", "deployment/web", "--", "true"}, {"create", "configmap", "made"}, {"get", "secrets"}} {
		if r := kubectl(refused...); r.code == 0 || !strings.Contains(r.stderr, "orbidden") {
			t.Errorf("kubectl %s of a viewer: exit code %d, %s", strings.Join(refused, " "), r.code, r.stderr)
		}
	}
}

// hangs: nothing is heard of an agent that hangs, and its connection stays.
func (f *far) hangs(t *testing.T) {
	t.Helper()
	agent := f.agent()
	t.Logf("the agent uses %s", usedBy(t, agent))
	f.measures(t, agent)
	if err := syscall.Kill(agent, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	f.await(t, "far", "Offline")
	if took := time.Since(begin); took < tunnel.LostAfter-tunnel.Heartbeat {
		t.Errorf("it is called offline after %v, before three heartbeats", took)
	}
	// The kubelet may have ended it meanwhile, because it did not answer.
	if err := syscall.Kill(agent, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
	f.ok("cluster", "wait", "far", "--timeout", "3m")
}

// measures says what an adopted cluster sends and receives while nothing happens, and what its agent uses meanwhile. KQUEEN_E2E_TRAFFIC says for how
// long; without it nothing is measured.
func (f *far) measures(t *testing.T, agent int) {
	t.Helper()
	text := os.Getenv("KQUEEN_E2E_TRAFFIC")
	if text == "" {
		return
	}
	long, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("KQUEEN_E2E_TRAFFIC: %v", err)
	}
	carried := func() uint64 {
		link, err := netlink.LinkByName(f.link)
		if err != nil {
			t.Fatal(err)
		}
		return link.Attrs().Statistics.RxBytes + link.Attrs().Statistics.TxBytes
	}
	before := carried()
	over := time.NewTimer(long)
	<-over.C
	t.Logf("%.0f bytes a minute, with all headers; the agent uses %s", float64(carried()-before)/long.Minutes(), usedBy(t, agent))
}

// agent is the process of the agent, as the host sees it: the one that dials this installation.
func (f *far) agent() int {
	f.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		f.t.Fatal(err)
	}
	for _, file := range all {
		said, err := os.ReadFile(file)
		if err != nil || !bytes.HasPrefix(said, []byte("/kqueen-agent\x00")) || !bytes.Contains(said, []byte(f.gateway.String()+":")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			return pid
		}
	}
	f.t.Fatal("no process of the agent")
	return 0
}

// usedBy says what a process has used so far: memory, and processor time within its life.
func usedBy(t *testing.T, pid int) string {
	t.Helper()
	p, err := procfs.NewProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := p.Stat()
	if err != nil {
		t.Fatal(err)
	}
	begin, err := stat.StartTime()
	if err != nil {
		t.Fatal(err)
	}
	life := time.Since(time.Unix(int64(begin), 0))
	return fmt.Sprintf("%d MiB, and %.2f s of a processor in %s", stat.ResidentMemory()>>20, stat.CPUTime(), life.Round(time.Second))
}
