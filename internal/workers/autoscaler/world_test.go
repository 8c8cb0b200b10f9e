package autoscaler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// place is a cluster with a pool of 0 to 3 machines in a namespace of its own, what makes and removes its machines, and its pods.
type place struct {
	client    client.WithWatch
	namespace string
	clock     time.Time
	// pods is how many there shall be, each of which takes a node; on says which has which.
	pods int
	on   map[string]string
	// most is how many machines the pool may have at most, and wrong what must not happen.
	most    int32
	wrong   []string
	failing error
	events  *events.FakeRecorder
}

func newPlace(t *testing.T) *place {
	t.Helper()
	c := controlplanetest.Client(t)
	p := &place{client: c, namespace: controlplanetest.Namespace(t, c), clock: time.Now().Truncate(time.Second), on: map[string]string{}, events: events.NewFakeRecorder(100)}
	cluster := &v1alpha1.Cluster{ObjectMeta: p.named("demo"), Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}}
	pool := &v1alpha1.NodePool{ObjectMeta: p.named("workers"), Spec: v1alpha1.NodePoolSpec{
		ClusterName: "demo", MaxReplicas: ptr.To[int32](3), Autoscaling: &v1alpha1.PoolAutoscaling{IdleSeconds: ptr.To[int32](90)},
	}}
	for _, o := range []client.Object{cluster, pool} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.NewTime(p.clock)}}
	if err := c.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.namespace, Name: name}
}

func (p *place) pool(ctx context.Context) (*v1alpha1.NodePool, error) {
	pool := &v1alpha1.NodePool{}
	return pool, p.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "workers"}, pool)
}

func (p *place) list(ctx context.Context) ([]v1alpha1.Machine, error) {
	list := &v1alpha1.MachineList{}
	err := p.client.List(ctx, list, client.InNamespace(p.namespace))
	return list.Items, err
}

// see is what the cluster says: each machine is a node, and pods are where they were put.
func (p *place) see(ctx context.Context) (Seen, error) {
	if p.failing != nil {
		return Seen{}, p.failing
	}
	machines, err := p.list(ctx)
	s := &scene{}
	for _, m := range machines {
		s.Nodes = append(s.Nodes, nodeLike(m.Name, "2"))
	}
	for i := range p.pods {
		name := fmt.Sprintf("p%d", i)
		s.pod(name, "1500m", p.on[name])
	}
	return s.Seen, err
}

// step plays the pool's reconciler and the scheduler.
func (p *place) step(ctx context.Context) (bool, error) {
	p.clock = p.clock.Add(time.Minute)
	pool, err := p.pool(ctx)
	if err != nil {
		return false, err
	}
	machines, err := p.list(ctx)
	if err != nil {
		return false, err
	}
	if pool.Spec.Replicas > p.most {
		p.wrong = append(p.wrong, fmt.Sprintf("the pool shall have %d machines", pool.Spec.Replicas))
	}
	for n := int32(len(machines)); n < pool.Spec.Replicas; n++ {
		m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, GenerateName: "workers-"}}
		m.Spec = v1alpha1.MachineSpec{ClusterName: "demo", Version: "v1.36.3", Provider: v1alpha1.ProviderLocal}
		m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pool, v1alpha1.GroupVersion.WithKind("NodePool"))}
		if err := p.client.Create(ctx, m); err != nil {
			return false, err
		}
	}
	if err := p.shrink(ctx, pool, machines); err != nil {
		return false, err
	}
	return true, p.schedule(ctx)
}

// shrink removes machines that are too many: marked ones alone.
func (p *place) shrink(ctx context.Context, pool *v1alpha1.NodePool, machines []v1alpha1.Machine) error {
	more := len(machines) - int(pool.Spec.Replicas)
	for i := range machines {
		m := &machines[i]
		if _, marked := m.Annotations[v1alpha1.AnnotationDeleteFirst]; more <= 0 || !marked {
			continue
		}
		for pod, on := range p.on {
			if on == m.Name {
				p.wrong = append(p.wrong, "pod "+pod+" was on a machine that went")
			}
		}
		more--
		if err := p.client.Delete(ctx, m); err != nil {
			return err
		}
	}
	if more > 0 {
		p.wrong = append(p.wrong, "a machine goes that is not marked")
	}
	return nil
}

func (p *place) schedule(ctx context.Context) error {
	machines, err := p.list(ctx)
	taken := map[string]bool{}
	for pod, on := range p.on {
		if taken[on] = true; strings.Compare(pod, fmt.Sprintf("p%d", p.pods)) >= 0 {
			delete(p.on, pod)
			delete(taken, on)
		}
	}
	for i := range p.pods {
		name := fmt.Sprintf("p%d", i)
		for _, m := range machines {
			if p.on[name] == "" && !taken[m.Name] {
				p.on[name], taken[m.Name] = m.Name, true
			}
		}
	}
	return err
}

func (p *place) reconciler(inj *operatortest.Injector) reconcile.Reconciler {
	c := inj.Client(p.client)
	return New(Config{
		Client: c, Reader: c, Now: func() time.Time { return p.clock }, Recorder: p.events, Measures: NewMeasures(),
		Host: func() corev1.ResourceList { return allocatable("2", "4Gi") },
		Read: func(ctx context.Context, _ *v1alpha1.Cluster) (Seen, error) {
			return operatortest.ReadValue(inj, "Read", func() (Seen, error) { return p.see(ctx) })
		},
	})
}

func (p *place) request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: p.namespace, Name: "demo"}}
}

// has says whether the pool has so many machines, with no mark left, and says nothing any more.
func (p *place) has(n int) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		pool, err := p.pool(ctx)
		if err != nil {
			return false, err
		}
		machines, err := p.list(ctx)
		for _, m := range machines {
			if m.Annotations[v1alpha1.AnnotationDeleteFirst] != "" {
				return false, err
			}
		}
		said := pool.Status.Autoscaling
		return int(pool.Spec.Replicas) == n && len(machines) == n && len(p.on) == p.pods && said != nil && said.Message == "" && len(said.Nodes) == n, err
	}
}

func (p *place) world(n int) operatortest.World {
	return operatortest.World{
		Request:    p.request(),
		Reconciler: p.reconciler,
		Object: func(context.Context) (operator.Object, error) { // the conditions of the pool are another reconciler's
			return nil, apierrors.NewNotFound(schema.GroupResource{}, "")
		},
		Step: p.step,
		Done: p.has(n),
		Snapshot: func(ctx context.Context) (any, error) {
			pool, err := p.pool(ctx)
			if err != nil {
				return nil, err
			}
			return fmt.Sprint(pool.Spec.Replicas, len(pool.Status.Autoscaling.Nodes), pool.Status.Autoscaling.PendingPods, p.wrong), nil
		},
	}
}

// TestAutoscalingUnderFaults: whatever call fails and wherever KQueen dies, the pool gets as large as its pods need and no larger, and no
// machine goes on which a pod is.
func TestAutoscalingUnderFaults(t *testing.T) {
	up := func(t *testing.T) (*place, operatortest.World) {
		p := newPlace(t)
		p.pods, p.most = 2, 2
		w := p.world(2)
		return p, w
	}
	t.Run("Up", func(t *testing.T) {
		operatortest.RunParallel(t, func(t *testing.T) operatortest.World { _, w := up(t); return w })
	})
	t.Run("Down", func(t *testing.T) {
		operatortest.RunParallel(t, func(t *testing.T) operatortest.World {
			p, w := up(t)
			return operatortest.After(t, w, operatortest.Act{Do: func(ctx context.Context) error { p.pods = 0; return p.schedule(ctx) }, Done: p.has(0)})
		})
	})
}

// run reconciles once and returns the pool after it.
func (p *place) run(t *testing.T, r reconcile.Reconciler) (*v1alpha1.NodePool, reconcile.Result) {
	t.Helper()
	result, err := r.Reconcile(t.Context(), p.request())
	if err != nil {
		t.Fatal(err)
	}
	pool, err := p.pool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return pool, result
}

// TestClusterThatCannotBeAsked: nothing is changed, which is said once, and idle time begins again.
func TestClusterThatCannotBeAsked(t *testing.T) {
	p := newPlace(t)
	p.pods, p.most = 1, 1
	operatortest.Converge(t, p.world(1))
	r := p.reconciler(&operatortest.Injector{})
	p.pods, p.on = 0, map[string]string{}
	p.run(t, r)
	p.clock, p.failing = p.clock.Add(time.Minute), errors.New("it hangs")
	for range 2 {
		pool, result := p.run(t, r)
		if s := pool.Status.Autoscaling; pool.Spec.Replicas != 1 || s.Message != pausedMessage+"it hangs" || len(s.Nodes) > 0 || result.RequeueAfter != failedInterval {
			t.Errorf("%d machines, %+v, again after %s", pool.Spec.Replicas, s, result.RequeueAfter)
		}
	}
	p.clock, p.failing = p.clock.Add(time.Minute), nil
	if pool, _ := p.run(t, r); pool.Spec.Replicas != 1 || !strings.Contains(pool.Status.Autoscaling.Nodes[0].Message, "not needed since "+p.clock.UTC().Format(time.RFC3339)) {
		t.Errorf("%d machines, %+v", pool.Spec.Replicas, pool.Status.Autoscaling)
	}
	close(p.events.Events)
	var said []string
	for e := range p.events.Events {
		said = append(said, e)
	}
	if all := strings.Join(said, "\n"); strings.Count(all, v1alpha1.ReasonAutoscalingPaused) != 1 || strings.Count(all, "Normal ScaledUp from 0 to 1: 1 pod found no node, such as shop/p0") != 1 {
		t.Errorf("events:\n%s", all)
	}
}

// TestSwitchedOff: nothing of it is left, and the cluster is not asked any more.
func TestSwitchedOff(t *testing.T) {
	p := newPlace(t)
	p.pods, p.most = 1, 1
	operatortest.Converge(t, p.world(1))
	pool, err := p.pool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pool.Spec.Autoscaling = nil
	if err := p.client.Update(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	p.failing = errors.New("it must not be asked")
	r := p.reconciler(&operatortest.Injector{})
	if pool, result := p.run(t, r); pool.Spec.Replicas != 1 || pool.Status.Autoscaling != nil || result != (reconcile.Result{}) {
		t.Errorf("%d machines, %+v, %+v", pool.Spec.Replicas, pool.Status.Autoscaling, result)
	}
}

// TestScaledMeanwhile: what a user changes at the same time is not overwritten.
func TestScaledMeanwhile(t *testing.T) {
	p := newPlace(t)
	p.pods, p.most = 1, 3
	reads := 0
	r := New(Config{
		Client: p.client, Reader: p.client, Now: func() time.Time { return p.clock }, Host: func() corev1.ResourceList { return allocatable("2", "4Gi") },
		Read: func(ctx context.Context, _ *v1alpha1.Cluster) (Seen, error) {
			if reads++; reads == 1 {
				pool, err := p.pool(ctx)
				if err != nil {
					return Seen{}, err
				}
				pool.Spec.Replicas = 3
				if err := p.client.Update(ctx, pool); err != nil {
					return Seen{}, err
				}
			}
			return p.see(ctx)
		},
	})
	if pool, _ := p.run(t, r); pool.Spec.Replicas != 3 {
		t.Errorf("%d machines, want the 3 of the user", pool.Spec.Replicas)
	}
}

// TestClusterThatSleeps is not asked, which is no news, and nothing is changed.
func TestClusterThatSleeps(t *testing.T) {
	p := newPlace(t)
	p.pods, p.most = 1, 1
	operatortest.Converge(t, p.world(1))
	c := &v1alpha1.Cluster{}
	if err := p.client.Get(t.Context(), p.request().NamespacedName, c); err != nil {
		t.Fatal(err)
	}
	c.Status.Hibernation = &v1alpha1.HibernationStatus{Asleep: true}
	if err := p.client.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	p.failing, p.events = errors.New("it must not be asked"), events.NewFakeRecorder(10)
	pool, _ := p.run(t, p.reconciler(&operatortest.Injector{}))
	if said := pool.Status.Autoscaling.Message; pool.Spec.Replicas != 1 || said != pausedMessage+"it sleeps" || len(p.events.Events) > 0 {
		t.Errorf("%d machines, %d events, %q", pool.Spec.Replicas, len(p.events.Events), said)
	}
}
