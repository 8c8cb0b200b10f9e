package nodepool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

const machineFinalizer = "kqueen.io/machine"

// subject is a pool in a namespace of its own, its cluster, and what the machine controller does with its machines.
type subject struct {
	client client.WithWatch
	key    client.ObjectKey
	clock  time.Time
	// most is how many machines that are not being deleted there may ever be at once.
	most int
	// dead are machines whose nodes are not ready.
	dead map[string]bool
	// stuck says that no machine that is deleted ever goes.
	stuck bool
	// prepared is what preparing the cluster ends with.
	prepared error
}

// newSubject makes a cluster that takes nodes, and a pool.
func newSubject(t *testing.T, spec v1alpha1.NodePoolSpec) *subject {
	t.Helper()
	c := controlplanetest.Client(t)
	s := &subject{
		client: c, key: client.ObjectKey{Namespace: controlplanetest.Namespace(t, c), Name: "pool"},
		clock: time.Now().Truncate(time.Second), most: int(spec.Replicas), dead: map[string]bool{},
	}
	cluster := &v1alpha1.Cluster{ObjectMeta: s.named("demo"), Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}}
	s.create(t, cluster)
	if err := s.serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	spec.ClusterName = "demo"
	s.create(t, &v1alpha1.NodePool{ObjectMeta: s.named("pool"), Spec: spec})
	return s
}

func (s *subject) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.key.Namespace, Name: name}
}

func (s *subject) create(t *testing.T, obj client.Object) {
	t.Helper()
	if err := s.client.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

// serve has the cluster take nodes.
func (s *subject) serve(ctx context.Context) error {
	c := &v1alpha1.Cluster{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: "demo"}, c); err != nil {
		return err
	}
	c.Status.Version, c.Status.Join = "v1.36.3", &v1alpha1.JoinEndpoint{Server: "192.0.2.1:6443", CA: []byte("ca")}
	c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.NewTime(s.clock)}}
	return s.client.Status().Update(ctx, c)
}

func (s *subject) pool(ctx context.Context) (*v1alpha1.NodePool, error) {
	p := &v1alpha1.NodePool{}
	return p, s.client.Get(ctx, s.key, p)
}

func (s *subject) machines(ctx context.Context) ([]v1alpha1.Machine, error) {
	list := &v1alpha1.MachineList{}
	err := s.client.List(ctx, list, client.InNamespace(s.key.Namespace))
	return list.Items, err
}

// live are the machines that are not being deleted.
func (s *subject) live(ctx context.Context) ([]v1alpha1.Machine, error) {
	all, err := s.machines(ctx)
	return slices.DeleteFunc(all, func(m v1alpha1.Machine) bool { return !m.DeletionTimestamp.IsZero() }), err
}

func (s *subject) config(c client.Client) Config {
	return Config{
		Client: c, Reader: c, Now: func() time.Time { return s.clock },
		Prepare: func(context.Context, *v1alpha1.Cluster) error { return s.prepared },
	}
}

// cached reads from one client and writes through another: reads from a cache do not fail.
func cached(from client.Reader, to client.Client) client.Client {
	return interceptor.NewClient(to.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return from.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return from.List(ctx, list, opts...)
		},
	})
}

func (s *subject) world() operatortest.World {
	return operatortest.World{
		Request: reconcile.Request{NamespacedName: s.key},
		Reconciler: func(inj *operatortest.Injector) reconcile.Reconciler {
			c := s.config(inj.Client(s.client))
			c.Client = cached(s.client, c.Client)
			prepare := c.Prepare
			c.Prepare = func(ctx context.Context, cluster *v1alpha1.Cluster) error {
				return inj.Call("Prepare", func() error { return prepare(ctx, cluster) })
			}
			return New(c)
		},
		Object:   s.object,
		Step:     s.step,
		Done:     s.ready,
		Snapshot: s.snapshot,
	}
}

// object returns the pool, and an error when there are more machines than there may be.
func (s *subject) object(ctx context.Context) (operator.Object, error) {
	live, err := s.live(ctx)
	if err != nil {
		return nil, err
	}
	if len(live) > s.most {
		return nil, fmt.Errorf("there are %d machines, and %d may be there", len(live), s.most)
	}
	return s.pool(ctx)
}

// step plays the part of the machine controller: it lets them join, die and go.
func (s *subject) step(ctx context.Context) (bool, error) {
	s.clock = s.clock.Add(time.Minute)
	all, err := s.machines(ctx)
	if err != nil {
		return false, err
	}
	notified := false
	for i := range all {
		moved, err := s.work(ctx, &all[i])
		if err != nil {
			return false, err
		}
		notified = notified || moved
	}
	return notified, nil
}

func (s *subject) work(ctx context.Context, m *v1alpha1.Machine) (bool, error) {
	before := m.DeepCopy()
	switch {
	case !m.DeletionTimestamp.IsZero() && s.stuck:
		return false, nil
	case !m.DeletionTimestamp.IsZero():
		m.Finalizers = nil
		return true, client.IgnoreNotFound(s.client.Patch(ctx, m, client.MergeFrom(before)))
	case len(m.Finalizers) == 0:
		m.Finalizers = []string{machineFinalizer}
		return true, s.client.Patch(ctx, m, client.MergeFrom(before))
	}
	now := metav1.NewTime(s.clock)
	if m.Status.JoinTime == nil {
		m.Status.JoinTime = &now
	}
	changed := apimeta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionNodeReady, Status: truth(!s.dead[m.Name]), Reason: "Test", LastTransitionTime: now,
	})
	if !changed {
		return false, nil
	}
	return true, s.client.Status().Patch(ctx, m, client.MergeFrom(before))
}

// ready says whether the status speaks of the present spec and all is well, and all that left is gone.
func (s *subject) ready(ctx context.Context) (bool, error) {
	p, err := s.pool(ctx)
	if err != nil {
		return false, err
	}
	return p.Status.ObservedGeneration == p.Generation && apimeta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady), nil
}

// falseCondition returns a condition of the pool when it is false and speaks of the present spec.
func (s *subject) falseCondition(ctx context.Context, kind string) (metav1.Condition, error) {
	p, err := s.pool(ctx)
	if err != nil {
		return metav1.Condition{}, err
	}
	c := apimeta.FindStatusCondition(p.Status.Conditions, kind)
	if p.Status.ObservedGeneration != p.Generation || c == nil || c.Status != metav1.ConditionFalse {
		return metav1.Condition{}, nil
	}
	return *c, nil
}

// says returns whether a condition of the pool is false for a reason.
func (s *subject) says(condition, reason string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		c, err := s.falseCondition(ctx, condition)
		return c.Reason == reason, err
	}
}

// end is an end state, without names and times of its own.
type end struct {
	Machines   []string
	Conditions []string
	Status     v1alpha1.NodePoolStatus
	Finalizers []string
}

func (s *subject) snapshot(ctx context.Context) (any, error) {
	var e end
	all, err := s.machines(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		spec, err := json.Marshal(m.Spec) // printed, it would have addresses
		if err != nil {
			return nil, err
		}
		e.Machines = append(e.Machines, fmt.Sprint(string(spec), m.Labels, m.DeletionTimestamp != nil, len(m.OwnerReferences)))
	}
	slices.Sort(e.Machines)
	p, err := s.pool(ctx)
	if apierrors.IsNotFound(err) {
		return e, nil
	}
	for _, k := range p.Status.Conditions {
		e.Conditions = append(e.Conditions, strings.ReplaceAll(fmt.Sprint(k.Type, "=", k.Status, " ", k.Reason, " ", k.Message, " of ", k.ObservedGeneration), s.key.Namespace, "NAMESPACE"))
	}
	slices.Sort(e.Conditions)
	e.Status, e.Finalizers = p.Status, p.Finalizers
	e.Status.Conditions = nil
	return e, err
}

// change is an act that changes the pool, after which there may be so many machines.
func (s *subject) change(most int, how func(*v1alpha1.NodePoolSpec)) operatortest.Act {
	return operatortest.Act{
		Do: func(ctx context.Context) error {
			s.most = most
			p, err := s.pool(ctx)
			if err != nil {
				return err
			}
			before := p.DeepCopy()
			how(&p.Spec)
			return s.client.Patch(ctx, p, client.MergeFrom(before))
		},
		Done: s.ready,
	}
}

func (s *subject) scaleTo(n int32) operatortest.Act {
	before := s.most
	return s.change(max(before, int(n)), func(spec *v1alpha1.NodePoolSpec) { spec.Replicas = n })
}

// kill has the nodes of so many machines die.
func (s *subject) kill(n int) operatortest.Act {
	return operatortest.Act{
		Do: func(ctx context.Context) error {
			live, err := s.live(ctx)
			if err == nil && len(live) < n {
				err = errors.New("there are too few machines")
			}
			if err != nil {
				return err
			}
			for _, m := range live[:n] {
				s.dead[m.Name] = true
			}
			_, err = s.step(ctx)
			return err
		},
		Done: func(ctx context.Context) (bool, error) {
			live, err := s.live(ctx)
			if err != nil || slices.ContainsFunc(live, func(m v1alpha1.Machine) bool { return s.dead[m.Name] }) {
				return false, err
			}
			return s.ready(ctx)
		},
	}
}

func (s *subject) deletion(obj client.Object) operatortest.Act {
	return operatortest.Act{
		Do: func(ctx context.Context) error { return client.IgnoreNotFound(s.client.Delete(ctx, obj)) },
		Done: func(ctx context.Context) (bool, error) {
			err := s.client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		},
	}
}
