package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/hibernation"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// subject is one Cluster in a namespace of its own, with a Provisioner, and the cloud that it is made in.
type subject struct {
	*cloud
	client client.WithWatch
	key    client.ObjectKey
	uid    types.UID
}

func newSubject(t *testing.T) *subject {
	t.Helper()
	c := controlplanetest.Client(t)
	s := &subject{cloud: &cloud{clusters: map[types.UID]*made{}}, client: c, key: client.ObjectKey{Namespace: controlplanetest.Namespace(t, c), Name: "demo"}}
	s.create(t, &v1alpha1.Provisioner{ObjectMeta: s.named("prov"), Spec: v1alpha1.ProvisionerSpec{Driver: "test"}})
	cluster := &v1alpha1.Cluster{ObjectMeta: s.named(s.key.Name), Spec: v1alpha1.ClusterSpec{
		Version: "v1.36.2", ProvisionerRef: v1alpha1.ProvisionerReference{Namespace: s.key.Namespace, Name: "prov"},
	}}
	s.create(t, cluster)
	s.uid = cluster.UID
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

func (s *subject) get(ctx context.Context) (*v1alpha1.Cluster, error) {
	c := &v1alpha1.Cluster{}
	return c, s.client.Get(ctx, s.key, c)
}

func (s *subject) world() operatortest.World {
	return operatortest.World{
		Request: reconcile.Request{NamespacedName: s.key},
		Reconciler: func(inj *operatortest.Injector) reconcile.Reconciler {
			c := inj.Client(s.client)
			return New(Config{Client: c, Secrets: c, Drivers: map[string]provision.Driver{"test": driver{s.cloud, inj}}, Look: called})
		},
		Object:   s.object,
		Step:     func(context.Context) (bool, error) { s.step(); return false, nil }, // no watch tells of a cloud
		Done:     s.serves("v1.36.2"),
		Snapshot: s.snapshot,
	}
}

// object returns the cluster, and an error when it says Ready of a version that does not run.
func (s *subject) object(ctx context.Context) (operator.Object, error) {
	c, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	ready := c.Status.ObservedGeneration == c.Generation && apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady)
	if ready && c.Status.Version != c.Spec.Version {
		return nil, fmt.Errorf("the cluster says Ready of %s and runs %s", c.Spec.Version, c.Status.Version)
	}
	return c, nil
}

// serves says whether the status speaks of the present spec and is good.
func (s *subject) serves(version string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		c, err := s.get(ctx)
		return err == nil && c.Status.ObservedGeneration == c.Generation && c.Status.Version == version &&
			apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady), err
	}
}

// end is the end state of a cluster, without names and times of its own.
type end struct {
	Cloud      []string
	Secrets    []string
	Conditions []string
	Status     v1alpha1.ClusterStatus
	Finalizers []string
}

func (s *subject) snapshot(ctx context.Context) (any, error) {
	var e end
	for uid, m := range s.clusters {
		e.Cloud = append(e.Cloud, fmt.Sprint(uid == s.uid, m.want.Name, m.want.Version, m.made, m.deleting))
	}
	secrets := &corev1.SecretList{}
	if err := s.client.List(ctx, secrets, client.InNamespace(s.key.Namespace)); err != nil {
		return nil, err
	}
	for i := range secrets.Items {
		e.Secrets = append(e.Secrets, secrets.Items[i].Name+": "+string(secrets.Items[i].Data[v1alpha1.KubeconfigKey]))
	}
	c, err := s.get(ctx)
	if apierrors.IsNotFound(err) {
		return e, nil
	}
	for _, k := range c.Status.Conditions {
		if k.Type == v1alpha1.ConditionAddonsReady && c.Status.Sleeps() { // which are not looked at
			continue
		}
		e.Conditions = append(e.Conditions, strings.ReplaceAll(fmt.Sprint(k.Type, "=", k.Status, " ", k.Reason, " ", k.Message, " of ", k.ObservedGeneration), s.key.Namespace, "NAMESPACE"))
	}
	slices.Sort(e.Conditions)
	e.Status, e.Finalizers = c.Status, c.Finalizers
	e.Status.Conditions = nil
	if h := e.Status.Hibernation; h != nil {
		e.Status.Hibernation = &v1alpha1.HibernationStatus{Asleep: h.Asleep, Message: h.Message, Asked: h.Asked}
	}
	if e.Status.Ingress != nil {
		e.Status.Ingress.CA = nil
	}
	return e, err
}

func (s *subject) deletion() *operatortest.Act {
	return &operatortest.Act{
		Do: func(ctx context.Context) error {
			return client.IgnoreNotFound(s.client.Delete(ctx, &v1alpha1.Cluster{ObjectMeta: s.named(s.key.Name)}))
		},
		Done: func(ctx context.Context) (bool, error) {
			_, err := s.get(ctx)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		},
	}
}

func (s *subject) upgrade() operatortest.Act {
	return operatortest.Act{
		Do: func(ctx context.Context) error {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"version":"v1.36.3"}}`))
			return s.client.Patch(ctx, &v1alpha1.Cluster{ObjectMeta: s.named(s.key.Name)}, patch)
		},
		Done: s.serves("v1.36.3"),
	}
}

// called finds a cluster that was called at one time, whenever it looks: the status has the minute of it.
func called(context.Context, *v1alpha1.Cluster) (hibernation.Seen, error) {
	return hibernation.Seen{LastRequest: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, nil
}

// sleep has the cluster sleep.
func (s *subject) sleep() operatortest.Act {
	return operatortest.Act{
		Do: func(ctx context.Context) error {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"hibernation":{"asleep":true}}}`))
			return s.client.Patch(ctx, &v1alpha1.Cluster{ObjectMeta: s.named(s.key.Name)}, patch)
		},
		Done: func(ctx context.Context) (bool, error) {
			c, err := s.get(ctx)
			if err != nil {
				return false, err
			}
			ready := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
			return c.Status.Sleeps() && s.clusters[s.uid].next.Asleep && ready != nil && ready.Reason == v1alpha1.ReasonAsleep, nil
		},
	}
}

// wake has a client wait for the cluster.
func (s *subject) wake() operatortest.Act {
	return operatortest.Act{
		Do: func(ctx context.Context) error {
			s.mu.Lock()
			s.waiting = map[types.UID]bool{s.uid: true}
			s.mu.Unlock()
			// The notice of it.
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"noticed":"yes"}}}`))
			return s.client.Patch(ctx, &v1alpha1.Cluster{ObjectMeta: s.named(s.key.Name)}, patch)
		},
		Done: func(ctx context.Context) (bool, error) {
			serves, err := s.serves("v1.36.2")(ctx)
			s.mu.Lock()
			defer s.mu.Unlock()
			return serves && !s.clusters[s.uid].next.Asleep && !s.waiting[s.uid], err
		},
	}
}

func TestClusterUnderFaults(t *testing.T) {
	tests := map[string]func(t *testing.T, s *subject) operatortest.World{
		"Create": func(_ *testing.T, s *subject) operatortest.World { return s.world() },
		"Delete": func(t *testing.T, s *subject) operatortest.World {
			return operatortest.After(t, s.world(), *s.deletion())
		},
		"Upgrade": func(t *testing.T, s *subject) operatortest.World {
			return operatortest.After(t, s.world(), s.upgrade())
		},
		"Sleep": func(t *testing.T, s *subject) operatortest.World {
			return operatortest.After(t, s.world(), s.sleep())
		},
		"Wake": func(t *testing.T, s *subject) operatortest.World {
			asleep := operatortest.After(t, s.world(), s.sleep())
			return operatortest.After(t, asleep, s.wake())
		},
		"DeleteAsleep": func(t *testing.T, s *subject) operatortest.World {
			asleep := operatortest.After(t, s.world(), s.sleep())
			return operatortest.After(t, asleep, *s.deletion())
		},
		"DeleteHalfMade": func(_ *testing.T, s *subject) operatortest.World { w := s.world(); w.Then = s.deletion(); return w },
	}
	for name, world := range tests {
		t.Run(name, func(t *testing.T) {
			operatortest.RunParallel(t, func(t *testing.T) operatortest.World { return world(t, newSubject(t)) })
		})
	}
}

// TestClusterEndState says in words what the runs under faults are compared with.
func TestClusterEndState(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world())
	got, err := s.snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if e := got.(end); len(e.Cloud) != 1 || !slices.Equal(e.Secrets, []string{"demo-kubeconfig: kubeconfig of demo at v1.36.2"}) || e.Status.Endpoint == "" || len(e.Finalizers) != 1 {
		t.Errorf("want one cluster, its kubeconfig, endpoint and finalizer, got %+v", e)
	}
	operatortest.Converge(t, operatortest.After(t, s.world(), *s.deletion()))
	if got, err = s.snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := got.(end); len(e.Cloud)+len(e.Secrets) != 0 {
		t.Errorf("want nothing to be left, got %+v", e)
	}
}
