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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// shortSoak is what "make test" has of it: KQueen, etcd and a few others are killed. Hangs take half a minute each.
const shortSoak = 25 * time.Second

const (
	// hungFor is for how long a program is stopped that its supervisor does not end by itself.
	hungFor = 25 * time.Second
	// healing is the most that everything may take until it is well after a fault: the supervisor gives a stopped program
	// 15 s, and a machine whose process 1 died takes half a minute.
	healing = 2 * time.Minute
)

// TestSoak kills and stops programs of an installation at random, one after the other, while clients read, write and watch
// two clusters through the gateway and directly. KQUEEN_E2E_SOAK is for how long, KQUEEN_E2E_FIRST_SEED the seed by which
// a run's faults can be had again.
func TestSoak(t *testing.T) {
	needRoot(t)
	t.Parallel()
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
	s.soaked.kube("rollout", "status", "deployment/web", "--timeout=3m")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, cluster := range []string{"soaked", "bystander"} {
		through := i.tenant("default", cluster)
		s.load(ctx, cluster+" by the gateway", through)
		s.load(ctx, cluster+" directly", i.direct(through, cluster))
	}
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

// victim is a program that a fault hits; workload and component are as in the status, and both empty for KQueen itself.
type victim struct {
	workload, component string
	own                 bool
	pid                 int
}

// String names the kind of program, whatever cluster or machine it belongs to.
func (v victim) String() string {
	switch {
	case v.component == "":
		return "kqueen"
	case v.component == v.workload:
		return v.component
	case v.own:
		return v.component + " (" + v.workload + ")"
	case slices.Contains([]string{"machine", "containerd", "kubelet", "kube-proxy"}, v.component):
		return v.component + " (node)"
	}
	return v.component + " (cluster)"
}

// fault is one that was made, and what came of it.
type fault struct {
	victim    victim
	hang      bool
	ended     bool          // a program that was stopped was ended by its supervisor
	healed    time.Duration // until everything was well
	restarted []string      // programs and containers that have nothing to do with it
	orphans   []string
}

func (f *fault) String() string {
	if f.hang {
		return "stop " + f.victim.String()
	}
	return "kill " + f.victim.String()
}

// first are killed first, so that every run has them: what the data path of all clusters goes through.
var first = []string{"kqueen", "etcd", "store-gate"}

// choose takes any program but those of the bystander.
func (s *soak) choose() *fault {
	s.t.Helper()
	all := []victim{{pid: s.server()}}
	for _, w := range s.status().Workloads {
		for _, c := range w.Components {
			all = append(all, victim{workload: w.Name, component: c.Name, own: w.Own, pid: c.PID})
		}
	}
	all = slices.DeleteFunc(all, func(v victim) bool { return strings.Contains(v.workload, "bystander") || v.pid == 0 })
	if n := len(s.faults); n < len(first) {
		at := slices.IndexFunc(all, func(v victim) bool { return v.String() == first[n] })
		if at < 0 {
			s.t.Fatalf("%s does not run", first[n])
		}
		return &fault{victim: all[at]}
	}
	return &fault{victim: all[s.random.IntN(len(all))], hang: !s.short && s.random.IntN(3) == 0}
}

func (s *soak) server() int {
	s.t.Helper()
	pids := s.servers()
	if len(pids) != 1 {
		s.t.Fatalf("%d kqueen serve, want one", len(pids))
	}
	return pids[0]
}

// fault makes one, waits until everything is well again, and looks at what it has done.
func (s *soak) fault(f *fault) {
	s.t.Helper()
	s.faults = append(s.faults, f)
	for _, l := range s.loads {
		l.begin(len(s.faults) - 1)
	}
	programs, containers := s.others(f), s.containers(f)
	begin := time.Now()
	switch {
	case f.hang:
		f.ended = s.stop(f.victim)
	default:
		kill(s.t, f.victim.pid)
	}
	if f.victim.component == "" {
		<-time.After(time.Duration(s.random.Int64N(int64(5 * time.Second))))
		s.up()
	}
	eventually(s.t, "everything is well after "+f.String(), func(ctx context.Context) error { return s.well(ctx, f) })
	if f.healed = time.Since(begin); f.healed > healing {
		s.t.Errorf("%s: everything was well after %s", f, f.healed)
	}
	f.restarted = append(missing(programs, s.others(f)), missing(containers, s.containers(f))...)
	f.orphans = s.orphans()
	s.t.Logf("%3d %-45s well after %5.1fs, restarted %v, orphans %v", len(s.faults), f, f.healed.Seconds(), f.restarted, f.orphans)
}

// stop stops a program as a hang would, until its supervisor ends it, or for a while.
func (s *soak) stop(v victim) (ended bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), hungFor)
	defer cancel()
	ended, err := stopProcess(ctx, v.pid)
	if err != nil {
		s.t.Fatalf("stop %s: %v", v, err)
	}
	return ended
}

// others are the programs that a fault leaves alone. A machine takes with it what runs on it.
func (s *soak) others(f *fault) []string {
	s.t.Helper()
	return s.supervised(func(w workloadStatus, c componentStatus) bool {
		return c.PID != f.victim.pid && (f.victim.component != "machine" || w.Name != f.victim.workload)
	})
}

// containers are those of pods that a fault leaves alone.
func (s *soak) containers(f *fault) []string {
	all := s.bystander.containers()
	if f.victim.component != "machine" {
		all = append(all, s.soaked.containers()...)
	}
	return all
}

// missing are those that were there and are not any more.
func missing(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(before), func(one string) bool { return slices.Contains(after, one) })
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
			if c.State != "Ready" || c.PID == f.victim.pid && (f.ended || !f.hang) {
				return fmt.Errorf("%s of %s is %s as process %d", c.Name, w.Name, c.State, c.PID)
			}
		}
	}
	for _, l := range s.loads {
		if err := l.well(ctx); err != nil {
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

// orphans are processes of the installation that no program of its status has started.
func (s *soak) orphans() []string {
	s.t.Helper()
	known := map[int]bool{1: false}
	for _, w := range s.status().Workloads {
		for _, c := range w.Components {
			known[c.PID] = true
		}
	}
	for _, pid := range s.servers() {
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
