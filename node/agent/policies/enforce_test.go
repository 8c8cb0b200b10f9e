package policies

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// record is a filter that says what is asked of it, and fails as often as it is told.
type record struct {
	fail  int
	calls chan string // "replace" with the number of isolated addresses, "remove"
}

func (r *record) Replace(rules Ruleset) error {
	if r.fail > 0 {
		r.fail--
		r.calls <- "failed"
		return errors.New("the kernel refuses")
	}
	r.calls <- "replace " + strings.Repeat("*", len(rules.Own()))
	return nil
}

func (r *record) Remove() error {
	r.calls <- "remove"
	return nil
}

var bridged = fstest.MapFS{"bridge-nf-call-iptables": {Data: []byte("1\n")}, "bridge-nf-call-ip6tables": {Data: []byte("1\n")}}

func TestRun(t *testing.T) {
	client := fake.NewClientset()
	for _, p := range testPods() {
		if _, err := client.CoreV1().Pods(p.Namespace).Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	filter := &record{fail: 1, calls: make(chan string, 100)}
	up := make(chan struct{}, 100)
	e := &enforcer{node: thisNode, filter: filter, bridges: bridged, up: func() { up <- struct{}{} }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.run(ctx, client) }()
	got := []string{<-filter.calls, <-filter.calls}
	<-up // not before it succeeded
	policy := testPolicies(t, denyAll)[0]
	if _, err := client.NetworkingV1().NetworkPolicies("x").Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got = append(got, <-filter.calls)
	if err := client.NetworkingV1().NetworkPolicies("x").Delete(ctx, policy.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	got = append(got, <-filter.calls)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"failed", "replace ", "replace ****", "replace "}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSync: the same rules are put in place again only after a while, or when nothing is known of the last time.
func TestSync(t *testing.T) {
	filter := &record{calls: make(chan string, 100)}
	e := &enforcer{node: thisNode, filter: filter, bridges: bridged, up: func() {}}
	var err error
	if e.watched, err = watch(fake.NewClientset(), func() {}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for _, step := range []struct {
		after time.Duration
		fail  int
		want  int
	}{{0, 0, 1}, {time.Second, 0, 0}, {repeat - 1, 0, 0}, {repeat, 0, 1}, {2 * repeat, 1, 1}, {2*repeat + 1, 0, 1}, {2*repeat + 2, 0, 0}} {
		filter.fail = step.fail
		if err := e.sync(start.Add(step.after)); (err != nil) != (step.fail > 0) {
			t.Errorf("after %s: %v", step.after, err)
		}
		if got := len(filter.calls); got != step.want {
			t.Errorf("after %s: %d calls, want %d", step.after, got, step.want)
		}
		for len(filter.calls) > 0 {
			<-filter.calls
		}
	}
}

func TestLeave(t *testing.T) {
	there := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "own"}}
	going := there.DeepCopy()
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: time.Now()}, []string{"foregroundDeletion"}
	what := schema.GroupResource{Group: "apps", Resource: "daemonsets"}
	for name, c := range map[string]struct {
		object runtime.Object
		err    error
		remove bool
	}{
		"There":        {there, nil, false},
		"Deleting":     {going, nil, true},
		"Gone":         {nil, apierrors.NewNotFound(what, "own"), true},
		"NoPermission": {nil, apierrors.NewForbidden(what, "own", errors.New("the role is gone")), true},
		"NoAccount":    {nil, apierrors.NewUnauthorized("the account is gone"), true},
		"NoServer":     {nil, errors.New("connection refused"), false},
		"Busy":         {nil, apierrors.NewTooManyRequestsError("later"), false},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			client.PrependReactor("get", "daemonsets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, c.object, c.err })
			filter := &record{calls: make(chan string, 1)}
			if err := (&enforcer{filter: filter}).leave(t.Context(), client, "kube-system", "own"); err != nil {
				t.Fatal(err)
			}
			if removed := len(filter.calls) == 1; removed != c.remove {
				t.Errorf("removed: %v, want %v", removed, c.remove)
			}
		})
	}
}

func TestCommandRefuses(t *testing.T) {
	for _, name := range []string{"x", "/x", "x/"} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		run := Command(flags)
		if err := flags.Parse([]string{"-daemonset", name}); err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), thisNode, fake.NewClientset(), func() {}); err == nil || !strings.Contains(err.Error(), "-daemonset: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckBridges(t *testing.T) {
	for name, c := range map[string]struct {
		settings fs.FS
		isolated string
		want     string
	}{
		"On":      {bridged, aIPv6, ""},
		"Off":     {fstest.MapFS{"bridge-nf-call-iptables": {Data: []byte("0\n")}}, aIP, `net.bridge.bridge-nf-call-iptables is "0"; set it to 1`},
		"Absent":  {fstest.MapFS{}, aIP, "load the kernel module br_netfilter"},
		"NoIPv6":  {fstest.MapFS{"bridge-nf-call-iptables": {Data: []byte("1\n")}}, aIPv6, "net.bridge.bridge-nf-call-ip6tables"},
		"NotIPv6": {fstest.MapFS{"bridge-nf-call-iptables": {Data: []byte("1\n")}}, aIP, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkBridges(c.settings, []netip.Addr{mustAddress(t, c.isolated)})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestKeep: what is kept of objects gives the same rules, also when it is gone through twice.
func TestKeep(t *testing.T) {
	specs := []string{denyAll, `{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{ports: [{port: http}]}], egress: [{to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: 'y'}}}], ports: [{port: http}]}]}`}
	want := compiled(t, specs...)
	got := Compile(thisNode, kept(t, testPods()), kept(t, testNamespaces()), kept(t, testPolicies(t, specs...)))
	if diff := cmp.Diff(want.String(), got.String()); diff != "" || len(want.Sets) == 0 {
		t.Errorf("-want +got:\n%s", diff)
	}
	sidecar := testPod("x", "s", thisNode, nil, aIP)
	always := corev1.ContainerRestartPolicyAlways
	sidecar.Spec.InitContainers = []corev1.Container{
		{RestartPolicy: &always, Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9090, Protocol: "TCP"}}},
		{Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 1, Protocol: "TCP"}}},
	}
	ports := []networkingv1.NetworkPolicyPort{}
	for _, p := range testPolicies(t, `{podSelector: {}, ingress: [{ports: [{port: metrics}]}]}`) {
		ports = append(ports, p.Spec.Ingress[0].Ports...)
	}
	for _, p := range append(kept(t, []*corev1.Pod{sidecar}), sidecar) {
		if diff := cmp.Diff([]Ports{{Protocol: 6, First: 9090, Last: 9090}}, named(ports, p)); diff != "" {
			t.Errorf("ports of a sidecar (-want +got):\n%s", diff)
		}
	}
}

func kept[T any](t *testing.T, objects []*T) []*T {
	t.Helper()
	var out []*T
	for _, o := range slices.Clone(objects) {
		once, err := keep(o)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := keep(once)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, twice.(*T))
	}
	return out
}
