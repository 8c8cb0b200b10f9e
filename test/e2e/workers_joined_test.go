//go:build linux

package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWorkersJoined brings two machines with nothing on them, which join with the line that is printed, and leave.
func TestWorkersJoined(t *testing.T) {
	needRoot(t)
	parallel(t, 6*time.Minute)
	i := newInstallation(t)
	l := i.lan()
	// All addresses: machines are told the first one of the host, which they reach by the bridge.
	i.ok(append([]string{"up", "--timeout", "5m", "--listen", "0.0.0.0"}, ports(t)...)...)
	i.ok("cluster", "create", "demo", "--cni", "none", "--wait")
	i.ok("nodepool", "create", "demo", "--cluster", "demo", "--provider", "manual", "--nodes", "2")
	w := i.workers("demo")
	var all []*joined
	for _, name := range w.awaitedAll(2) {
		all = append(all, l.bare(name))
	}
	t.Run("Refused", func(t *testing.T) { w.refuses(t, all[0]) })
	all[1].begin()
	for _, b := range all {
		if r := b.join(); !strings.Contains(r.stderr, "is registered") || !strings.Contains(r.stderr, "--cni None") {
			t.Errorf("a machine of a cluster without a network joins, and is told:\n%s", r.stderr)
		}
	}
	connect(w, all)
	i.ok("nodepool", "wait", "demo", "--timeout", "3m")
	w.wantNodes(2)
	for _, b := range all {
		w.revoked(joinToken(t, b.line))
	}
	w.apply("workloads.yaml")
	t.Run("Again", func(t *testing.T) { again(t, all[0]) })
	t.Run("Workloads", w.runMost)
	t.Run("Network", func(t *testing.T) {
		eventually(t, "everything is reached", func(context.Context) error { return w.reach() })
		// No machine of the cluster is on KQueen's host, and who calls hears that.
		if err := w.reachFromAPIServer(); err == nil || !strings.Contains(err.Error(), "the cluster has no machine on this host") {
			t.Errorf("the API server calls a pod and hears %v", err)
		}
	})
	t.Run("Streams", w.streams)
	t.Run("Supervisor is killed", func(*testing.T) { w.surviveSupervisor(all[0]) })
	t.Run("Authority is rotated", func(*testing.T) { w.rotateAuthority(); w.wantNodes(2) })
	t.Run("Machine restarts", func(t *testing.T) { w.restart(t, all[1], all) })
	t.Run("Leave", func(t *testing.T) { w.leave(t, all[0]) })
}

// refuses tries what must not join.
func (w *workers) refuses(t *testing.T, b *joined) {
	token := joinToken(t, b.line)
	id, _, _ := strings.Cut(token, ".")
	w.expired()
	b.refused("unknown token", strings.Replace(b.line, token, "aaaaaa.0123456789abcdef", 1), 1, "the cluster does not know the token")
	b.refused("token with another secret", strings.Replace(b.line, token, id+".0123456789abcdef", 1), 1, "is not signed with the token")
	b.refused("token that has expired", strings.Replace(b.line, token, "expire.0123456789abcdef", 1), 1, "has expired")
	at := strings.Index(b.line, "sha256:") + len("sha256:")
	other := strings.Repeat("0", 64)
	b.refused("hash of another key", b.line[:at]+other+b.line[at+len(other):], 1, "is not the cluster that is meant")
	b.refused("name that is none", strings.Replace(b.line, b.node, "No_Name", 1), 2, "--node-name")
	b.refused("who is not root", strings.Replace(b.line, "kqueen node", "setpriv --reuid 65534 --regid 65534 --clear-groups kqueen node", 1), 1, "only root can join a machine")
	free := b.occupy()
	b.refused("machine on which a kubelet listens", b.line, 1, "something listens on port 10250")
	free()
	if err := os.MkdirAll(b.inside("/etc/kubernetes"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.inside("/etc/kubernetes/kubelet.conf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.refused("node of something else", b.line, 1, "/etc/kubernetes/kubelet.conf is there", "kubeadm reset")
	if err := os.RemoveAll(b.inside("/etc/kubernetes")); err != nil {
		t.Fatal(err)
	}
	if r := b.shell("kqueen node leave --yes"); r.code != 1 || !strings.Contains(r.stderr, "has not joined") {
		t.Errorf("a machine leaves that has not joined: %+v", r)
	}
}

// expired makes a token that has expired.
func (w *workers) expired() {
	w.t.Helper()
	w.kubectl(w.config, `{"apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
		"metadata": {"namespace": "kube-system", "name": "bootstrap-token-expire"},
		"stringData": {"token-id": "expire", "token-secret": "0123456789abcdef", "expiration": "2020-01-01T00:00:00Z",
			"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true"}}`, "create", "-f", "-")
}

// occupy listens on the kubelet's port of a machine until the returned function is called.
func (b *joined) occupy() (end func()) {
	b.t.Helper()
	r := b.shell("busybox nc -l -p 10250 </dev/null >/dev/null 2>&1 & echo $!")
	eventually(b.t, "a program listens on the port", func(context.Context) error {
		const listening = ":280A 00000000:0000 0A" // the port in hexadecimal digits
		if out := b.within("cat", "/proc/net/tcp", "/proc/net/tcp6").stdout; !strings.Contains(out, listening) && !strings.Contains(out, ":280A 00000000000000000000000000000000:0000 0A") {
			return errors.New(out)
		}
		return nil
	})
	return func() {
		b.within("kill", strings.TrimSpace(r.stdout))
		eventually(b.t, "no program listens on the port", func(context.Context) error {
			if out := b.within("cat", "/proc/net/tcp", "/proc/net/tcp6").stdout; strings.Contains(out, ":280A ") {
				return errors.New(out)
			}
			return nil
		})
	}
}

// begin runs the line and takes away what it began before that can have ended.
func (b *joined) begin() {
	b.t.Helper()
	if r := b.shell(b.line + " --wait=false"); r.code != 0 {
		b.t.Fatalf("%s: exit code %d:\n%s", b.node, r.code, r.stderr)
	}
	if r := b.within("kill", "-9", b.supervisor()); r.code != 0 {
		b.t.Fatalf("kill the supervisor: %s", r.stderr)
	}
}

// again runs the line once more: its token is used up, and nothing is done twice.
func again(t *testing.T, b *joined) {
	before := b.pids()
	if r := b.join(); !strings.Contains(r.stderr, "node "+b.node+" is ready") {
		t.Errorf("the line once more:\n%s", r.stderr)
	}
	after := b.pids()
	for pid, command := range before {
		if strings.Contains(command, "/kubelet ") && after[pid] != command {
			t.Errorf("the kubelet was restarted: %v, now %v", before, after)
		}
	}
	other := strings.Replace(b.line, b.node, "another", 1)
	if r := b.shell(other); r.code != 1 || !strings.Contains(r.stderr, "is node "+b.node+" of the cluster at") || !strings.Contains(r.stderr, "kqueen node leave") {
		t.Errorf("under another name: %+v", r)
	}
}

func (w *workers) runMost(*testing.T) {
	w.kube("rollout", "status", "deployment/web", "--timeout=6m")
	w.kube("rollout", "status", "statefulset/db", "--timeout=6m")
	w.kube("rollout", "status", "daemonset/agent", "--timeout=6m")
	w.kube("rollout", "status", "deployment/coredns", "-n", "kube-system", "--timeout=6m")
	if out := w.kube("get", "pods", "-n", "kube-system", "-l", "k8s-app=kube-proxy", "-o", "name"); out != "" {
		w.t.Errorf("kube-proxy runs as a pod where it runs as a program: %s", out)
	}
}

// surviveSupervisor kills what supervises the programs, and starts it again as a unit of systemd does.
func (w *workers) surviveSupervisor(b *joined) {
	w.t.Helper()
	before, programs := w.startedContainers(), b.pids()
	pid := b.supervisor()
	if r := b.within("kill", "-9", pid); pid == "" || r.code != 0 {
		w.t.Fatalf("kill the supervisor %q: %s", pid, r.stderr)
	}
	if r := b.join(); !strings.Contains(r.stderr, "is ready") {
		w.t.Errorf("joins again:\n%s", r.stderr)
	}
	if next := b.supervisor(); next == "" || next == pid {
		w.t.Errorf("the supervisor was %s and is %s", pid, next)
	}
	if diff := cmp.Diff(before, w.containers()); diff != "" {
		w.t.Errorf("pods were restarted (-before +after):\n%s", diff)
	}
	after := b.pids()
	for pid, command := range programs {
		if strings.Contains(command, "containerd") && after[pid] != command {
			w.t.Errorf("a program was restarted: %s", command)
		}
	}
}

// restart switches a machine off and on. Something has to run what a unit of systemd does.
func (w *workers) restart(t *testing.T, b *joined, all []*joined) {
	b.stop()
	b.start("joined.sh", b.node)
	connect(w, all)
	if r := b.shell("setsid kqueen node run >/dev/null 2>&1 </dev/null &"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	eventually(t, "everything is reached again", func(context.Context) error { return w.reach() })
	if b.supervisor() == "" {
		t.Error("nothing supervises the programs, which run")
	}
}

// leave takes a machine out, of which nothing stays, and back in.
func (w *workers) leave(t *testing.T, b *joined) {
	if len(b.traces()) == 0 {
		t.Fatal("nothing of a node is found while there is one, so nothing is looked for")
	}
	r := b.shell("kqueen node leave --dry-run")
	for _, goes := range []string{"node " + b.node, "cni0", "/var/lib/kubelet", nodeDir} {
		if r.code != 0 || !strings.Contains(r.stdout, goes) {
			t.Errorf("want that %s goes, got %+v", goes, r)
		}
	}
	if r := b.shell("kqueen node leave </dev/null"); r.code != 2 || !strings.Contains(r.stderr, "--yes") {
		t.Errorf("leaves without being sure: %+v", r)
	}
	if r := b.shell("kqueen node leave --yes"); r.code != 0 || strings.Contains(r.stderr, "warning") {
		t.Errorf("leave: exit code %d:\n%s", r.code, r.stderr)
	}
	if left := b.traces(); len(left) > 0 {
		t.Errorf("left on the machine:\n%s", strings.Join(left, "\n"))
	}
	// Under another name, as if it had never been a node.
	w.ok("nodepool", "scale", "demo", "--nodes", "3")
	b.node = w.awaitedAll(1)[0]
	b.line, b.cgroup = strings.TrimSpace(w.ok("node", "join-command", b.node)), filepath.Join("kqueen", b.node)
	if r := b.join(); !strings.Contains(r.stderr, "node "+b.node+" is registered") {
		t.Errorf("once more:\n%s", r.stderr)
	}
}
