//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// defaultSeeds take less than a minute. "make soak" has 50.
const defaultSeeds = 3

// number reads a number from the environment.
func number(t *testing.T, variable string, absent uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return absent
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// TestCrashes kills kqueen at random moments of the lives of clusters. KQUEEN_E2E_SEEDS is how many
// lives, KQUEEN_E2E_FIRST_SEED the first of their seeds, by which a run can be had again.
func TestCrashes(t *testing.T) {
	parallel(t, 3*time.Minute)
	seeds := number(t, "KQUEEN_E2E_SEEDS", defaultSeeds)
	first := number(t, "KQUEEN_E2E_FIRST_SEED", uint64(time.Now().Unix()))
	t.Logf("%d seeds from %d on", seeds, first)
	i := started(t)
	begin := time.Now()
	i.ok("cluster", "create", "bystander", "--wait", "--timeout", "5m")
	creation := time.Since(begin)
	bystander := i.running(func(process) bool { return true })
	if len(bystander) != 11 { // etcd for tenants and for the admin plane, store gate, egress, two gateways, two of the admin plane, three of the cluster
		t.Fatalf("the planes and the bystander run as %d processes, want 11:\n%s", len(bystander), strings.Join(bystander, "\n"))
	}
	for seed := first; seed < first+seeds && !t.Failed(); seed++ {
		l := &life{t: t, i: i, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), name: fmt.Sprintf("mayfly-%d", seed), creation: creation}
		l.live()
		if got := i.running(func(process) bool { return true }); !slices.Equal(got, bystander) {
			t.Errorf("seed %d: running processes are\n%s\nand were\n%s", seed, strings.Join(got, "\n"), strings.Join(bystander, "\n"))
		}
	}
	i.kubectl(i.kubeconfig("default", "bystander"), "", "get", "ns", "kube-system")
}

// life is that of one cluster: create, update, delete, each with at least one crash.
type life struct {
	t        *testing.T
	i        *installation
	seed     uint64
	random   *rand.Rand
	name     string
	creation time.Duration // how long a creation takes here
	begin    time.Time
}

func (l *life) live() {
	l.begin = time.Now()
	l.disturb("create", l.creation*5/4, func() result {
		r := l.i.kqueen("cluster", "create", l.name, "--wait", "--timeout", "5m")
		if strings.Contains(r.stderr, "already exists") { // the first try got through before the crash
			r.code = 0
		}
		if r.code != 0 && strings.Contains(r.stderr, " created with ") {
			l.t.Errorf("seed %d: a wait that had begun ended with the crash: %s", l.seed, r.stderr)
		}
		return r
	})
	l.i.ok("cluster", "wait", l.name, "--timeout", "5m")
	kubeconfig := l.i.kubeconfig("default", l.name)
	l.i.kubectl(kubeconfig, "", "create", "configmap", "kept", "--from-literal=seed="+strconv.FormatUint(l.seed, 10))
	l.complete()

	tenant := l.i.tenants().only(l.name)
	mine := func(p process) bool { return slices.Contains(tenant.uids, p.workload) }
	before := l.i.running(mine)
	san := fmt.Sprintf("n%d.example.com", l.seed)
	l.disturb("update", l.creation/8, func() result {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"seed":"%d"}},"spec":{"network":{"extraSANs":[%q]}}}`, l.seed, san)
		return l.i.tryKubectl(l.i.adminKubeconfig(), "", "patch", "cluster", l.name, "--type=merge", "-p", patch)
	})
	l.serves(san)
	l.i.ok("cluster", "wait", l.name, "--timeout", "5m")
	if got := l.i.running(mine); len(got) != 3 || !slices.Equal(got, before) {
		l.t.Errorf("seed %d: an update restarted the tenant: %v, was %v", l.seed, got, before)
	}
	if got := l.i.kubectl(kubeconfig, "", "get", "configmap", "kept", "-o", "jsonpath={.data.seed}"); got != strconv.FormatUint(l.seed, 10) {
		l.t.Errorf("seed %d: the tenant's object holds %q", l.seed, got)
	}

	l.disturb("delete", l.creation/8, func() result {
		r := l.i.kqueen("cluster", "delete", l.name, "--yes", "--wait=false")
		if r.code == 3 { // gone already
			r.code = 0
		}
		return r
	})
	l.i.ok("cluster", "wait", l.name, "--for", "delete", "--timeout", "5m")
	if left := l.i.traces(tenant); len(left) > 0 {
		l.t.Errorf("seed %d: left of the cluster:\n%s", l.seed, strings.Join(left, "\n"))
	}
}

// disturb sends a request, kills kqueen at a random moment of the time that the work takes, at times
// once more while it comes up, and starts it again. A request that the crash cut off is sent again, as
// its user would do.
func (l *life) disturb(act string, span time.Duration, request func() result) {
	l.t.Helper()
	if l.random.IntN(2) == 0 {
		span /= 10 // most of kqueen's own steps come in quick succession at the beginning
	}
	moment := time.Duration(l.random.Int64N(int64(span)))
	answer := make(chan result, 1)
	hit := time.NewTimer(moment)
	go func() { answer <- request() }()
	<-hit.C
	l.crash()
	before := l.i.running(func(process) bool { return true })
	twice := l.random.IntN(2) == 0
	if twice {
		l.crashComingUp()
	}
	l.i.up()
	for _, p := range before {
		if now := l.i.running(func(process) bool { return true }); act != "delete" && !slices.Contains(now, p) {
			l.t.Errorf("seed %d: %s: %s ran when kqueen was killed and does not run any more", l.seed, act, p)
		}
	}
	first := <-answer
	if first.code != 0 {
		if again := request(); again.code != 0 {
			l.t.Fatalf("seed %d: %s after the crash: %s", l.seed, act, again.stderr)
		}
	}
	l.t.Logf("%6.1fs seed %d: %s, killed after %.2fs, twice %t, request answered %d", time.Since(l.begin).Seconds(), l.seed, act, moment.Seconds(), twice, first.code)
}

func (l *life) crash() {
	l.t.Helper()
	pids := l.i.servers()
	if len(pids) != 1 {
		l.t.Fatalf("%d kqueen serve, want one", len(pids))
	}
	if l.random.IntN(2) == 0 { // what would start it again, too: the user does
		l.i.halt()
		return
	}
	kill(l.t, pids[0])
}

// crashComingUp starts kqueen and kills it before it serves, or soon after.
func (l *life) crashComingUp() {
	l.t.Helper()
	ended := make(chan result, 1)
	go func() { ended <- l.i.kqueen("up") }()
	eventually(l.t, "kqueen comes up", func(context.Context) error {
		if len(l.i.servers()) == 0 {
			return fmt.Errorf("no process serves")
		}
		return nil
	})
	<-time.NewTimer(time.Duration(l.random.Int64N(int64(2 * time.Second)))).C
	l.i.halt()
	<-ended
}

// serves looks at the certificate that the gateway's clients see.
func (l *life) serves(san string) {
	l.t.Helper()
	cp := &v1alpha1.ControlPlane{}
	if err := l.i.admin().Get(l.t.Context(), client.ObjectKey{Namespace: "org-default", Name: l.name}, cp); err != nil {
		l.t.Fatal(err)
	}
	eventually(l.t, "the certificate has the new name", func(ctx context.Context) error {
		dialer := &tls.Dialer{Config: &tls.Config{ServerName: cp.Status.Endpoint.ServerName, InsecureSkipVerify: true}} // the test looks, it says nothing
		conn, err := dialer.DialContext(ctx, "tcp", cp.Status.Endpoint.Gateway)
		if err != nil {
			return err
		}
		defer conn.Close()
		if names := conn.(*tls.Conn).ConnectionState().PeerCertificates[0].DNSNames; !slices.Contains(names, san) {
			return fmt.Errorf("it has %v", names)
		}
		return nil
	})
}

// complete looks that everything of a cluster is there exactly once.
func (l *life) complete() {
	l.t.Helper()
	secrets := &corev1.SecretList{}
	if err := l.i.admin().List(l.t.Context(), secrets, client.InNamespace("org-default")); err != nil {
		l.t.Fatal(err)
	}
	tenant := l.i.tenants().only(l.name)
	if len(tenant.uids) != 1 {
		l.t.Fatalf("seed %d: %d control planes, want one", l.seed, len(tenant.uids))
	}
	mine := 0
	for _, s := range secrets.Items {
		if slices.ContainsFunc(s.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Name == l.name }) {
			mine++
		}
	}
	if mine != 2 {
		l.t.Errorf("seed %d: the cluster owns %d Secrets, want the kubeconfig and the keys", l.seed, mine)
	}
	if got := l.i.running(func(p process) bool { return slices.Contains(tenant.uids, p.workload) }); len(got) != 3 {
		l.t.Errorf("seed %d: the cluster runs as %d processes, want 3:\n%s", l.seed, len(got), strings.Join(got, "\n"))
	}
}
