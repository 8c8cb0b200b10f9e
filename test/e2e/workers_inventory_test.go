//go:build linux

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// asked is what an inventory command answers.
func asked[T any](w *workers, args ...string) rest.InventoryPage[T] {
	w.t.Helper()
	var page rest.InventoryPage[T]
	if err := json.Unmarshal([]byte(w.ok(append(append([]string{"inventory"}, args...), "-o", "json")...)), &page); err != nil {
		w.t.Fatal(err)
	}
	return page
}

// inventory: KQueen knows what runs on the nodes, and what ran there when it does not any more.
func (w *workers) inventory(t *testing.T) {
	binaries := asked[rest.InventoryBinary](w, "binaries", "--component", "kubelet")
	if len(binaries.Items) != 1 || binaries.Items[0].Version != programs.version || binaries.Items[0].Nodes != 2 {
		t.Errorf("kubelets: %+v", binaries.Items)
	}
	w.kube("create", "namespace", "gone")
	w.kube("run", "short", "-n", "gone", "--image", testImage(t), "--restart=Never", "--", "sleep", "1000000")
	w.kube("wait", "--for=condition=Ready", "pod/short", "-n", "gone", "--timeout=6m")
	running := func(at ...string) []string {
		var all []string
		for _, c := range asked[rest.InventoryContainer](w, append([]string{"containers", "--cluster", "demo", "-n", "gone"}, at...)...).Items {
			all = append(all, c.Phase+" "+c.Image.Reference)
		}
		return all
	}
	short := []string{"Running " + testImage(t)}
	wants := func(what string, want []string) {
		eventually(t, what, func(context.Context) error {
			if got := running(); !slices.Equal(got, want) {
				return fmt.Errorf("it knows %q, want %q", got, want)
			}
			return nil
		})
	}
	wants("the pod is known", short)
	then := time.Now().UTC().Format(time.RFC3339Nano)
	w.kube("delete", "pod", "short", "-n", "gone", "--now", "--timeout=6m")
	wants("the pod is gone", nil)
	if got := running("--at", then); !slices.Equal(got, short) {
		t.Errorf("at %s ran %q, want %q", then, got, short)
	}
	who := asked[rest.InventoryContainer](w, "who-runs", testImage(t), "-A")
	if len(who.Items) == 0 || who.AsOf.Live != 1 {
		t.Errorf("who runs the test image: %+v", who)
	}
	w.asksCluster(t, "demo")
}

// asksCluster: what belongs to what in a cluster, and how full its nodes are, is asked of it.
func (w *workers) asksCluster(t *testing.T, name string) {
	t.Helper()
	var graph rest.ClusterTopology
	if err := json.Unmarshal([]byte(w.ok("inventory", "topology", "--cluster", name, "-n", "default", "-o", "json")), &graph); err != nil {
		t.Fatal(err)
	}
	related := map[string]bool{}
	for _, r := range graph.Relations {
		to, _, _ := strings.Cut(r.To, "/default/web-")
		related[r.From+" "+r.Type+" "+to] = true
	}
	for _, want := range []string{"Deployment.apps/default/web Owns ReplicaSet.apps", "Service/default/web Selects Pod"} {
		if !related[want] {
			t.Errorf("%s is not among what belongs to what in cluster %s: %v, not read: %v", want, name, related, graph.NotRead)
		}
	}
	var full rest.ClusterUsage
	if err := json.Unmarshal([]byte(w.ok("inventory", "usage", "--cluster", name, "-o", "json")), &full); err != nil {
		t.Fatal(err)
	}
	if len(full.Nodes) != 2 || full.Total.Pods < 2 || full.Total.Requests.MilliCPU == 0 || len(full.NotRead) > 0 {
		t.Errorf("the nodes of cluster %s: %+v", name, full)
	}
}

// adopted: the same cluster, adopted by its kubeconfig and then by an agent under the same name, is used through KQueen as if it were reached directly: members
// watch, read logs and run commands with their own names. When it is let go, everything goes on.
func (w *workers) adopted(t *testing.T) {
	t.Run("Kubeconfig", func(t *testing.T) {
		w.enterAdopted(t, "far", func() {
			w.ok("cluster", "import", "far", "--kubeconfig", w.config, "--service-account", "--members", "--wait", "--timeout", "3m")
		})
	})
	t.Run("Agent", func(t *testing.T) {
		w.enterAdopted(t, "far", func() {
			a := w.startAgent("far", w.config, func(args ...string) result { return w.tryKubectl(w.config, "", args...) }, w.command)
			t.Cleanup(a.end)
			w.ok("cluster", "wait", "far", "--timeout", "3m")
		})
	})
}

func (w *workers) enterAdopted(t *testing.T, name string, adopt func()) {
	adopt()
	far := w.installation.kubeconfig("default", name)
	var got result
	eventually(t, "members have rights", func(context.Context) error {
		if got = w.tryKubectl(far, "", "logs", "deployment/web"); got.code != 0 {
			return fmt.Errorf("exit code %d: %s", got.code, got.stderr)
		}
		return nil
	})
	if got.stdout != "serving\n" {
		t.Errorf("the log is %q", got.stdout)
	}
	if got := w.kubectl(far, "hello", "exec", "-i", "db-1", "--", "cat"); got != "hello" {
		t.Errorf("what was written to a command comes back as %q", got)
	}
	if who := w.kubectl(far, "", "auth", "whoami", "-o", "jsonpath={.status.userInfo.groups}"); !strings.Contains(who, "kqueen:cluster-admin") {
		t.Errorf("the member's groups are %s", who)
	}
	w.watches(t, far)
	eventually(t, "both clusters are observed", func(context.Context) error {
		if as := asked[rest.InventoryImage](w, "images").AsOf; as.Live != 2 {
			return fmt.Errorf("%+v", as)
		}
		return nil
	})
	w.asksCluster(t, name)
	before := w.startedContainers()
	w.ok("cluster", "delete", name, "--yes", "--wait")
	if r := w.tryKubectl(far, "", "get", "pods"); r.code == 0 {
		t.Error("a cluster that was let go answers through KQueen")
	}
	if after := w.containers(); !slices.Equal(before, after) {
		t.Errorf("its containers were %q and are %q", before, after)
	}
}

// watches sees, by a kubeconfig, an object that begins after the watch did.
func (w *workers) watches(t *testing.T, config string) {
	t.Helper()
	cmd := w.command(filepath.Join(w.releases, programs.version, "kubectl"), "get", "configmaps", "--watch", "-o", "name", "--kubeconfig", config)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	in := bufio.NewScanner(out)
	if !in.Scan() { // what was there before
		t.Fatal("the watch says nothing")
	}
	w.kube("create", "configmap", "watched")
	defer w.kube("delete", "configmap", "watched")
	for in.Scan() {
		if in.Text() == "configmap/watched" {
			return
		}
	}
	t.Error("the watch does not say what is new")
}
