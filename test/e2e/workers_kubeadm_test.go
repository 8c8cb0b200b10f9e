//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWorkersKubeadm joins a machine of the user's own: it joins with what `kqueen node join-command` prints and upstream's kubeadm,
// from a network of its own. kube-proxy is a DaemonSet on such a machine, of an image that cannot be pulled
// here: the node is ready without it, and Services are not looked at.
func TestWorkersKubeadm(t *testing.T) {
	needRoot(t)
	parallel(t, 3*time.Minute)
	i := newInstallation(t)
	b := i.kubeadmMachine()
	// All addresses: machines are told the first one of the host, which they reach by the link.
	i.ok(append([]string{"up", "--timeout", "5m", "--listen", "0.0.0.0"}, ports(t)...)...)
	i.ok("cluster", "create", "demo", "--cni", "none", "--wait")
	i.ok("nodepool", "create", "hand", "--cluster", "demo", "--provider", "manual", "--nodes", "1")
	w := i.workers("demo")
	name := w.awaited()
	b.boot(name)

	line := i.ok("node", "join-command", "--pool", "hand", "--with", "kubeadm")
	if out := i.ok("node", "list", "-o", "json"); strings.Contains(out, joinToken(t, line)) {
		t.Errorf("the machine tells its token to every user who may see it:\n%s", out)
	}
	b.join(line)
	i.ok("nodepool", "wait", "hand", "--timeout", "3m")
	w.wantNodes(1)
	if out := i.ok("node", "list"); !strings.Contains(out, name) || !strings.Contains(out, b.address.String()) || !strings.Contains(out, programs.version) {
		t.Errorf("want the node %s with the address %s and version %s, got:\n%s", name, b.address, programs.version, out)
	}
	if r := i.kqueen("node", "join-command", name); r.code != 1 || !strings.Contains(r.stderr, "has joined already") {
		t.Errorf("a second command for the machine: %+v", r)
	}
	w.revoked(joinToken(t, line))
	w.served()

	i.ok("nodepool", "delete", "hand", "--yes", "--wait")
	if left := w.machines(); len(left) > 0 {
		t.Errorf("machines are left: %v", left)
	}
	if out := w.kube("get", "nodes", "-o", "name"); out != "" {
		t.Errorf("nodes are left: %s", out)
	}
}

// awaited is the name of the one machine, once it says what it waits for.
func (w *workers) awaited() (name string) {
	w.t.Helper()
	eventually(w.t, "the machine waits to be joined", func(context.Context) error {
		for _, m := range w.machines() {
			for _, c := range m.Status.Conditions {
				if c.Reason == "AwaitingJoin" && strings.Contains(c.Message, "kqueen node join-command "+m.Name) {
					name = m.Name
					return nil
				}
			}
		}
		return errors.New("no machine does")
	})
	return name
}

// joinToken is the token in a command, which kqueen has on standard input and kubeadm as an argument.
func joinToken(t *testing.T, line string) string {
	t.Helper()
	for _, before := range []string{"echo ", "--token "} {
		_, after, ok := strings.Cut(line, before)
		if token, _, more := strings.Cut(after, " "); ok && more && strings.Contains(token, ".") {
			return token
		}
	}
	t.Fatalf("no token in %q", line)
	return ""
}

// revoked wants that a token is not in the cluster any more.
func (w *workers) revoked(token string) {
	w.t.Helper()
	id, _, _ := strings.Cut(token, ".")
	eventually(w.t, "the token is revoked", func(context.Context) error {
		if out := w.kube("get", "secrets", "-n", "kube-system", "-o", "name"); strings.Contains(out, "bootstrap-token-"+id) {
			return errors.New("it is in the cluster")
		}
		return nil
	})
}

// served wants that a pod runs on the node and that the API server, which verifies the kubelet's certificate,
// fetches its log.
func (w *workers) served() {
	w.t.Helper()
	w.kube("run", "hello", "--image", testImage(w.t), "--image-pull-policy=Never", "--restart=Never", "--", "echo", "it runs")
	w.kube("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/hello", "--timeout=6m")
	eventually(w.t, "the log of a pod is read", func(context.Context) error {
		if r := w.tryKubectl(w.config, "", "logs", "hello"); r.code != 0 || r.stdout != "it runs\n" {
			return fmt.Errorf("it is %+v", r)
		}
		return nil
	})
}
