//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// TestWorkers does what a user does with a cluster that has nodes, and takes its nodes, KQueen and the whole host
// away beneath it.
func TestWorkers(t *testing.T) {
	needRoot(t)
	parallel(t, 11*time.Minute)
	i := newInstallation(t)
	i.program = filepath.Join(i.base, "kqueen") // one that can be upgraded
	if err := copyFile(programs.kqueen, i.program, 0o755); err != nil {
		t.Fatal(err)
	}
	gateway := strconv.Itoa(freePort(t))
	i.up("--gateway-port", gateway, "--import-allow", "127.0.0.1:"+gateway)
	bringCharts(t, i.dir)
	i.ok("cluster", "create", "demo", "--nodes", "2", "--wait")
	w := i.workers("demo")
	machines := w.machines()
	w.wantNodes(2)
	w.apply("workloads.yaml")
	w.apply("sources.yaml")
	w.apply("scaled.yaml")
	w.apply("stored.yaml")
	t.Run("Workloads", w.runAll)
	t.Run("Walls", w.walls)
	t.Run("Network", func(t *testing.T) {
		// kube-proxy on each node learns of the Services some time after their pods are ready.
		eventually(t, "everything is reached", func(context.Context) error { return errors.Join(w.reach(), w.reachFromAPIServer()) })
	})
	t.Run("PodSecurity", w.boundsPods)
	t.Run("Bounds", w.bounds)
	t.Run("Sources", w.seeSources)
	t.Run("Streams", w.streams)
	t.Run("Inventory", w.inventory)
	t.Run("Adopted", w.adopted)
	t.Run("Portal", w.portal)
	t.Run("Addons", w.addons)
	t.Run("Storage", w.stores)
	t.Run("Ingress and Gateway API", w.routes)
	t.Run("Applications on the host", w.applications)
	t.Run("Charts", w.charts)
	t.Run("KQueen is killed and upgraded", func(*testing.T) { w.surviveUpgrade() })
	t.Run("Programs of a node are killed", func(*testing.T) { w.surviveCrash(machines[0]) })
	t.Run("A machine dies", func(t *testing.T) { w.surviveDeath(t, machines[0]) })
	t.Run("Everything stops", func(t *testing.T) { w.comeBack(t, w.stopAll) })
	t.Run("Storage and addresses are as before", w.storedStill)
	t.Run("NetworkPolicies", w.enforcesPolicies)
	t.Run("Addons are switched off", w.addonsOff)
	t.Run("Scale", func(*testing.T) { w.scale() })
	traces := w.traces(t)
	i.ok("cluster", "delete", "demo", "--yes", "--wait")
	if left := w.traces(t); len(left) > 0 {
		t.Errorf("left on the host: %v", left)
	}
	if len(traces) == 0 {
		t.Error("nothing was found on the host while there were machines, so nothing was looked for")
	}
	i.ok("reset", "--yes")
	if left, err := os.ReadDir(i.dir); err != nil || len(left) != 1 || left[0].Name() != "images" { // the operator's own
		t.Errorf("reset left %v in the data directory (%v)", left, err)
	}
}

// workers is a cluster with nodes.
type workers struct {
	*installation
	config string         // kubeconfig of the cluster
	lived  map[lived]bool // every machine that was seen
	once   string         // what a pod wrote to its volume in its first life
}

func (i *installation) workers(cluster string) *workers {
	w := &workers{installation: i, config: i.kubeconfig("default", cluster), lived: map[lived]bool{}}
	i.t.Cleanup(w.sayUnready)
	return w
}

// sayUnready shows, when the test failed, which machines are not ready and why.
func (w *workers) sayUnready() {
	if !w.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	list := &v1alpha1.MachineList{}
	if err := w.admin().List(ctx, list); err != nil {
		w.t.Logf("list machines: %v", err)
		return
	}
	w.t.Logf("machines that are not ready at %s:", time.Now().UTC().Format(time.TimeOnly))
	for _, m := range list.Items {
		if c := apimeta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionReady); c == nil || c.Status != "True" {
			w.t.Logf("%s, created at %s, deleted at %v: %+v", m.Name, m.CreationTimestamp, m.DeletionTimestamp, m.Status.Conditions)
		}
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root makes machines, and networks beside that of this host")
	}
}

func (w *workers) kube(args ...string) string { return w.kubectl(w.config, "", args...) }

// apply creates what a file of testdata/workers says. IMAGE in it is the test image of the machines.
func (w *workers) apply(file string) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "workers", file))
	if err != nil {
		w.t.Fatal(err)
	}
	w.kubectl(w.config, strings.ReplaceAll(string(data), "IMAGE", testImage(w.t)), "apply", "-f", "-")
}

// boundsPods: a new cluster takes no pod that leads out of itself.
func (w *workers) boundsPods(t *testing.T) {
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"out"},"spec":{` +
		`"hostPID":true,"containers":[{"name":"out","image":"out"}],"volumes":[{"name":"host","hostPath":{"path":"/"}}]}}`
	if r := w.tryKubectl(w.config, pod, "create", "--dry-run=server", "-f", "-"); r.code == 0 || !strings.Contains(r.stderr, `violates PodSecurity "baseline:latest"`) {
		t.Errorf("a pod with the host's files and processes: exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
}

// testImage is the one with a shell that comes with every machine.
func testImage(t *testing.T) string {
	t.Helper()
	parts, err := controlplanetest.NodeParts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range parts.Images() {
		if strings.Contains(image.Name, "/busybox:") {
			return image.Name
		}
	}
	t.Fatal("no test image comes with the machines")
	return ""
}

// machines are the cluster's, by name.
func (w *workers) machines() []v1alpha1.Machine {
	w.t.Helper()
	list := &v1alpha1.MachineList{}
	if err := w.admin().List(w.t.Context(), list); err != nil {
		w.t.Fatal(err)
	}
	for _, m := range list.Items {
		cluster := &v1alpha1.Cluster{}
		if err := w.admin().Get(w.t.Context(), types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.ClusterName}, cluster); err != nil {
			w.t.Fatal(err)
		}
		w.lived[lived{m.UID, cluster.UID}] = true
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// wantNodes wants so many nodes, all of them ready, and a machine for each.
func (w *workers) wantNodes(n int) {
	w.t.Helper()
	out := w.kube("get", "nodes", "--no-headers")
	if got := strings.Count(out, " Ready "); got != n || strings.Count(out, "\n") != n {
		w.t.Errorf("want %d ready nodes, got:\n%s", n, out)
	}
	if got := len(w.machines()); got != n {
		w.t.Errorf("want %d machines, got %d", n, got)
	}
}

// runAll waits for every kind of workload.
func (w *workers) runAll(t *testing.T) {
	w.kube("rollout", "status", "deployment/web", "--timeout=6m")
	w.kube("rollout", "status", "statefulset/db", "--timeout=6m")
	w.kube("rollout", "status", "daemonset/agent", "--timeout=6m")
	w.kube("wait", "--for=condition=Complete", "job/once", "--timeout=6m")
	w.kube("wait", "--for=condition=Ready", "pod/placed", "--timeout=6m")
	w.kube("rollout", "status", "deployment/coredns", "-n", "kube-system", "--timeout=6m")
	eventually(t, "the CronJob's first Job", func(context.Context) error {
		if out := w.kube("get", "jobs", "-l", "cron=yes", "--no-headers"); !strings.Contains(out, "Complete") {
			return fmt.Errorf("jobs: %s", out)
		}
		return nil
	})
	nodes := strings.Fields(w.kube("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.nodeName}"))
	slices.Sort(nodes)
	if len(nodes) != 6 || len(slices.Compact(nodes)) != 2 {
		t.Errorf("six pods are not over both nodes: %v", nodes)
	}
	placed := w.kube("get", "pod", "placed", "-o", "jsonpath={.spec.nodeName}")
	if labelled := w.kube("get", "nodes", "-l", "kubernetes.io/hostname="+placed, "-o", "name"); labelled != "node/"+placed+"\n" {
		t.Errorf("the pod with an affinity is on %s, nodes are %s", placed, labelled)
	}
	if got := w.kube("exec", "db-0", "--", "cat", "/data/written"); got != "db-0\n" {
		t.Errorf("the volume of the StatefulSet holds %q", got)
	}
}

// reach goes by name, Service and NodePort from everywhere to everywhere, and says what cannot be reached.
func (w *workers) reach() error {
	ips := strings.Fields(w.kube("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].status.podIP}"))
	for from := range strings.FieldsSeq(w.kube("get", "pods", "-l", "app=agent", "-o", "jsonpath={.items[*].metadata.name}")) {
		r := w.tryKubectl(w.config, "", "exec", from, "--", "nslookup", "kubernetes.default.svc.cluster.local")
		if !strings.Contains(r.stdout, "10.96.0.1") {
			return fmt.Errorf("%s asks for kubernetes.default and hears %s%s", from, r.stdout, r.stderr)
		}
		// Each pod behind the Service, on whichever node, directly and through the Service.
		for _, ip := range ips {
			if err := w.get(from, ip, "8080"); err != nil {
				return err
			}
		}
		if err := w.get(from, "web.default.svc.cluster.local", "80"); err != nil {
			return err
		}
		if r := w.tryKubectl(w.config, "", "exec", from, "--", "sh", "-c", "nc -w 3 kubernetes.default 443 </dev/null"); r.code != 0 {
			return fmt.Errorf("%s does not reach the API server: %s", from, r.stderr)
		}
	}
	for _, m := range w.machines() {
		if err := page("http://" + m.Status.Address + ":30080/"); err != nil {
			return fmt.Errorf("NodePort of %s: %w", m.Name, err)
		}
	}
	return nil
}

// reachFromAPIServer goes the API server's own way to pods and Services, by which it also calls webhooks and aggregated
// APIs.
func (w *workers) reachFromAPIServer() error {
	for pod := range strings.FieldsSeq(w.kube("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.name}")) {
		if r := w.tryKubectl(w.config, "", "get", "--raw", "/api/v1/namespaces/default/pods/"+pod+":8080/proxy/"); r.stdout != "web-"+pod+"\n" {
			return fmt.Errorf("the API server asks pod %s and hears %q %s", pod, r.stdout, r.stderr)
		}
	}
	if r := w.tryKubectl(w.config, "", "get", "--raw", "/api/v1/namespaces/default/services/web:80/proxy/"); !strings.HasPrefix(r.stdout, "web-") {
		return fmt.Errorf("the API server asks Service web and hears %q %s", r.stdout, r.stderr)
	}
	return nil
}

// page fetches a page of the Deployment from this host.
func page(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && !strings.HasPrefix(string(body), "web-") {
		err = fmt.Errorf("answers %q", body)
	}
	return err
}

// get fetches a page of the Deployment from within a pod.
func (w *workers) get(pod, host, port string) error {
	r := w.tryKubectl(w.config, "GET / HTTP/1.0\r\n\r\n", "exec", "-i", pod, "--", "nc", "-w", "5", host, port)
	if r.code != 0 || !strings.Contains(r.stdout, "web-") {
		return fmt.Errorf("%s asks %s:%s and hears %q %s", pod, host, port, r.stdout, r.stderr)
	}
	return nil
}

// addonsReady waits for the addons of clusters that have nodes. A node is ready before their pods are there, so who compares containers would
// take the first one of an addon for one that was started again.
func (i *installation) addonsReady(clusters ...string) {
	i.t.Helper()
	for _, name := range clusters {
		i.ok("cluster", "wait", name, "--for=condition=AddonsReady", "--timeout", patience.String())
	}
}

// containers are the containers that have started of all pods that last, as "pod id".
func (w *workers) containers() []string {
	w.t.Helper()
	all, _ := w.podContainers()
	return all
}

// startedContainers are containers, as soon as those of all pods on nodes have started: images of addons come after a node is ready.
func (w *workers) startedContainers() []string {
	w.t.Helper()
	var all []string
	eventually(w.t, "the containers of all pods have started", func(context.Context) error {
		var waiting []string
		if all, waiting = w.podContainers(); len(waiting) > 0 {
			return fmt.Errorf("not those of %v", waiting)
		}
		return nil
	})
	return all
}

// podContainers are containers, and the pods that wait for one of theirs.
func (w *workers) podContainers() (started, waiting []string) {
	w.t.Helper()
	out := w.kube("get", "pods", "-A", "-l", "!batch.kubernetes.io/job-name",
		"-o", `jsonpath={range .items[*]}{.metadata.name}|{.spec.nodeName}|{.spec.containers[*].name}|{.status.containerStatuses[*].containerID}{"\n"}{end}`)
	for line := range strings.Lines(out) {
		parts := strings.Split(strings.TrimSpace(line), "|")
		if len(parts) != 4 || parts[1] == "" { // there is no node for it
			continue
		}
		names, ids := strings.Fields(parts[2]), strings.Fields(parts[3])
		if len(ids) > 0 {
			started = append(started, parts[0]+" "+parts[3])
		}
		if len(ids) < len(names) {
			waiting = append(waiting, parts[0])
		}
	}
	slices.Sort(started)
	return started, waiting
}
