//go:build linux

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestFailures kills KQueen and the programs below a tenant, one after the other.
func TestFailures(t *testing.T) {
	i := started(t)
	i.ok("cluster", "create", "demo", "--wait", "--timeout", "5m")
	t.Run("KQueen", func(t *testing.T) { killKQueen(t, i) })
	t.Run("APIServer", func(t *testing.T) { killAPIServer(t, i) })
	t.Run("Store", func(t *testing.T) { killStore(t, i) })
	t.Run("Power", func(t *testing.T) { killAll(t, i) })
}

// killKQueen kills KQueen and starts it again under the eyes of a tenant's clients, who do not notice: the gateway is a
// process of its own.
func killKQueen(t *testing.T, i *installation) {
	tenant := clientset(t, i.tenant("default", "demo"))
	const enough, writers = 50, 4
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	open, err := tenant.CoreV1().ConfigMaps(corev1.NamespaceDefault).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Stop()
	w := &writing{client: tenant, acknowledged: map[string]bool{}, news: make(chan struct{}, 1)}
	var all sync.WaitGroup
	for range writers {
		all.Go(func() { w.run(ctx) })
	}
	w.reach(ctx, t, enough)
	for _, pid := range i.servers() {
		kill(t, pid)
	}
	w.reach(ctx, t, w.count()+enough) // without KQueen
	i.up()
	w.reach(ctx, t, w.count()+enough)
	if w.refused > 0 {
		t.Errorf("%d requests failed while KQueen was killed and started", w.refused)
	}
	// The watch that was open all the time has what came last.
	last := "the-last-one"
	if _, err := tenant.CoreV1().ConfigMaps(corev1.NamespaceDefault).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: last}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for event := range open.ResultChan() {
		if m, ok := event.Object.(*corev1.ConfigMap); ok && m.Name == last {
			cancel()
			all.Wait()
			return
		}
	}
	t.Error("the watch through the gateway was cut")
}

func killAPIServer(t *testing.T, i *installation) {
	tenant := clientset(t, i.tenant("default", "demo"))
	said := watchFailure(t, i, "kube-apiserver")
	kill(t, i.pid("org-default/demo", "kube-apiserver"))
	begin := time.Now()
	eventually(t, "the API server answers", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return tenant.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
	took := time.Since(begin)
	t.Logf("kube-apiserver of a tenant killed: serving again after %.1fs", took.Seconds())
	if took > 20*time.Second {
		t.Errorf("serving again after %s", took)
	}
	select {
	case message := <-said:
		t.Logf("in between the condition said: %s", message)
	case <-time.After(patience):
		t.Errorf("no condition %s said that kube-apiserver failed", v1alpha1.ConditionComponentsReady)
	}
	i.ok("cluster", "wait", "demo", "--timeout", "5m")
	eventually(t, "an event tells of it", func(context.Context) error {
		events := i.ok("cluster", "events", "demo")
		if !strings.Contains(events, v1alpha1.ReasonComponentsFailing) {
			return fmt.Errorf("events are:\n%s", events)
		}
		return nil
	})
}

// watchFailure returns the first message of the components' condition that names a failing component.
func watchFailure(t *testing.T, i *installation, component string) <-chan string {
	t.Helper()
	w, err := i.admin().Watch(t.Context(), &v1alpha1.ControlPlaneList{}, client.InNamespace("org-default"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	said := make(chan string, 1)
	go func() {
		for event := range w.ResultChan() {
			cp, ok := event.Object.(*v1alpha1.ControlPlane)
			if !ok {
				continue
			}
			c := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionComponentsReady)
			if c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonComponentsFailing && strings.Contains(c.Message, component) {
				said <- c.Message
				return
			}
		}
	}()
	return said
}

func killStore(t *testing.T, i *installation) {
	tenant := clientset(t, i.tenant("default", "demo"))
	etcd := i.pid("etcd", "etcd")
	const before, after, writers = 50, 50, 4
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w := &writing{client: tenant, acknowledged: map[string]bool{}, news: make(chan struct{}, 1)}
	var all sync.WaitGroup
	for range writers {
		all.Go(func() { w.run(ctx) })
	}
	w.reach(ctx, t, before)
	kill(t, etcd) // while writes are under way
	begin, reached := time.Now(), w.count()
	w.reach(ctx, t, reached+after)
	took := time.Since(begin)
	cancel()
	all.Wait()
	t.Logf("etcd killed after %d acknowledged writes: %d more within %.1fs, %d refused", reached, after, took.Seconds(), w.refused)

	list, err := tenant.CoreV1().ConfigMaps(corev1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, m := range list.Items {
		there[m.Name] = m.Data["name"] == m.Name
	}
	for name := range w.acknowledged {
		if !there[name] {
			t.Errorf("the write of %s was acknowledged and is lost", name)
		}
	}
	if i.pid("etcd", "etcd") == etcd {
		t.Error("etcd was not killed")
	}
	i.ok("cluster", "wait", "demo", "--timeout", "5m")
}

// killAll is what a power failure does. Nothing that is said afterwards may be from before it.
func killAll(t *testing.T, i *installation) {
	kubeconfig := i.kubeconfig("default", "demo")
	i.kubectl(kubeconfig, "", "create", "configmap", "before-the-night", "--from-literal=k=v")
	for _, pid := range i.servers() { // the first, or it starts the others again
		kill(t, pid)
	}
	for _, p := range i.processes() {
		kill(t, p.pid)
	}
	if left := i.processes(); len(left) > 0 {
		t.Fatalf("survived: %v", left)
	}
	i.up()
	i.ok("cluster", "wait", "demo", "--timeout", "5m")
	if got := i.kubectl(kubeconfig, "", "get", "configmap", "before-the-night", "-o", "jsonpath={.data.k}"); got != "v" {
		t.Errorf("after the power came back the object holds %q", got)
	}
}

// writing writes ConfigMaps and remembers what was acknowledged.
type writing struct {
	client *kubernetes.Clientset
	news   chan struct{} // receives a value after a write was acknowledged

	mu            sync.Mutex
	next, refused int
	acknowledged  map[string]bool
}

func (w *writing) run(ctx context.Context) {
	for ctx.Err() == nil {
		w.write(ctx, w.name())
	}
}

// reach waits until so many writes in all were acknowledged.
func (w *writing) reach(ctx context.Context, t *testing.T, count int) {
	t.Helper()
	for w.count() < count {
		select {
		case <-w.news:
		case <-ctx.Done():
			t.Fatalf("only %d of %d writes were acknowledged within %s", w.count(), count, patience)
		}
	}
}

func (w *writing) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acknowledged)
}

func (w *writing) name() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	return fmt.Sprintf("write-%05d", w.next)
}

func (w *writing) write(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"name": name}}
	_, err := w.client.CoreV1().ConfigMaps(corev1.NamespaceDefault).Create(ctx, m, metav1.CreateOptions{})
	w.mu.Lock()
	defer w.mu.Unlock()
	// What exists already was written by client-go's own second try.
	if err != nil && !apierrors.IsAlreadyExists(err) {
		w.refused++
		return
	}
	w.acknowledged[name] = true
	select {
	case w.news <- struct{}{}:
	default:
	}
}
