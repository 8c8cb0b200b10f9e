//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// shortSoak is what "make test" has of it: KQueen, etcd and a few others are killed. Hangs take half a minute each.
const shortSoak = 25 * time.Second

// hungFor is for how long a program is stopped that its supervisor does not end by itself.
const hungFor = 25 * time.Second

// TestSoak kills and stops programs of an installation at random, one after the other, while clients read, write and watch
// two clusters through the gateway and directly. KQUEEN_E2E_SOAK is for how long, KQUEEN_E2E_FIRST_SEED the seed by which
// a run's faults can be had again.
func TestSoak(t *testing.T) {
	needRoot(t)
	parallel(t, 60*time.Minute)
	long, short := shortSoak, true
	if text := os.Getenv("KQUEEN_E2E_SOAK"); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatalf("KQUEEN_E2E_SOAK: %v", err)
		}
		short = false
	}
	seed := number(t, "KQUEEN_E2E_FIRST_SEED", uint64(time.Now().Unix()))
	t.Logf("%s, seed %d", long, seed)
	i := started(t)
	for _, name := range []string{"soaked", "bystander"} {
		i.ok("cluster", "create", name, "--nodes", "1", "--wait", "--timeout", "5m")
	}
	s := &soak{
		installation: i, t: t, random: rand.New(rand.NewPCG(seed, 0)), short: short,
		soaked: i.workers("soaked"), bystander: i.workers("bystander"),
	}
	s.soaked.apply("workloads.yaml")
	for _, of := range []string{"deployment/web", "statefulset/db"} {
		s.soaked.kube("rollout", "status", of, "--timeout=6m")
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, cluster := range []string{"soaked", "bystander"} {
		through := i.tenant("default", cluster)
		s.load(ctx, cluster+" by the gateway", through)
		s.load(ctx, cluster+" directly", i.direct(through, cluster))
	}
	i.addonsReady("soaked", "bystander")
	eventually(t, "everything is well at first", func(ctx context.Context) error { return s.well(ctx, &fault{}) })
	s.soaked.startedContainers()
	s.bystander.startedContainers()
	for begin := time.Now(); time.Since(begin) < long && !t.Failed(); {
		s.fault(s.choose())
	}
	stop()
	s.report()
}

// direct is the same cluster at its API server's own port.
func (i *installation) direct(through *rest.Config, cluster string) *rest.Config {
	i.t.Helper()
	cp := &v1alpha1.ControlPlane{}
	if err := i.admin().Get(i.t.Context(), client.ObjectKey{Namespace: "org-default", Name: cluster}, cp); err != nil {
		i.t.Fatal(err)
	}
	config := rest.CopyConfig(through)
	config.Host = "https://" + net.JoinHostPort(cp.Status.Endpoint.Address, strconv.Itoa(int(cp.Status.Endpoint.Port)))
	config.ServerName = cp.Status.Endpoint.ServerName
	return config
}

// soak is one run.
type soak struct {
	*installation
	t                 *testing.T
	random            *rand.Rand
	short             bool // without hangs
	soaked, bystander *workers
	loads             []*load
	faults            []*fault
}

// well says what is not as it should be. What was killed runs again as another process.
func (s *soak) well(ctx context.Context, f *fault) error {
	r := s.kqueen("status", "-o", "json")
	if r.code != 0 {
		return errors.New(r.stderr)
	}
	var now status
	if err := json.Unmarshal([]byte(r.stdout), &now); err != nil {
		return err
	}
	for _, w := range now.Workloads {
		for _, c := range w.Components {
			if c.State != "Ready" || c.PID == f.victim.pid && f.ended {
				return fmt.Errorf("%s of %s is %s as process %d", c.Name, w.Name, c.State, c.PID)
			}
		}
	}
	for _, l := range s.loads {
		if err := l.well(ctx, f.ends); err != nil {
			return err
		}
	}
	return nil
}

// nodesReady says which node is not.
func nodesReady(ctx context.Context, c kubernetes.Interface) error {
	nodes, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range nodes.Items {
		ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		if !ready {
			return fmt.Errorf("node %s is not ready", n.Name)
		}
	}
	return nil
}

// podsReady says which pod of a node that lasts is not, or has a container in its status that has ended with its machine: a kubelet
// that has just begun reports its node as ready before it has looked at its pods.
func podsReady(ctx context.Context, c kubernetes.Interface, ended []string) error {
	pods, err := c.CoreV1().Pods(corev1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: "!" + batchv1.JobNameLabel})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName == "" {
			continue
		}
		ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if !ready {
			return fmt.Errorf("pod %s is not ready", p.Name)
		}
		for _, container := range p.Status.ContainerStatuses {
			if slices.ContainsFunc(ended, func(line string) bool { return strings.Contains(line, container.ContainerID) }) {
				return fmt.Errorf("pod %s still shows %s", p.Name, container.ContainerID)
			}
		}
	}
	return nil
}

// orphans are processes of the installation that no program of its status has started.
func (s *soak) orphans() []string {
	s.t.Helper()
	known := map[int]bool{1: false}
	for _, w := range s.status().Workloads {
		for _, c := range w.Components {
			known[c.PID] = true
		}
	}
	for _, pid := range append(s.keepers(), s.servers()...) {
		known[pid] = true
	}
	var out []string
	for _, p := range s.processes() {
		if !descends(p.pid, known) {
			out = append(out, p.String())
		}
	}
	return out
}

// descends says whether a process or one of its parents is known. What is gone meanwhile is no orphan.
func descends(pid int, known map[int]bool) bool {
	for pid > 1 {
		if known[pid] {
			return true
		}
		at := statOf(pid)
		if at.start == "" {
			return true
		}
		pid = at.parent
	}
	return false
}
