package nodepool

import (
	"context"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// pooled is the spec of a pool that gives up a node after half a minute.
func pooled(replicas int32) v1alpha1.NodePoolSpec {
	return v1alpha1.NodePoolSpec{
		Replicas: replicas, Template: v1alpha1.MachineTemplate{Provider: "local"},
		Health: v1alpha1.HealthPolicy{
			StartupTimeoutSeconds: ptr.To[int32](3600), UnreadyTimeoutSeconds: ptr.To[int32](30),
			MaxUnhealthy: ptr.To(intstr.FromString("40%")),
		},
		Rollout: v1alpha1.RolloutPolicy{MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0))},
	}
}

// TestNodePoolUnderFaults: whatever call fails and wherever KQueen dies, the pool gets where it shall be, and
// at no time are there more machines than there may be.
func TestNodePoolUnderFaults(t *testing.T) {
	pool := func(s *subject) *v1alpha1.NodePool { return &v1alpha1.NodePool{ObjectMeta: s.named("pool")} }
	type world = func(t *testing.T, s *subject) operatortest.World
	tests := map[string]struct {
		replicas int32
		world
	}{
		"Create": {2, func(_ *testing.T, s *subject) operatortest.World { return s.world() }},
		"ScaleDown": {2, func(t *testing.T, s *subject) operatortest.World {
			return operatortest.After(t, s.world(), s.scaleTo(0))
		}},
		"Replace": {1, func(t *testing.T, s *subject) operatortest.World { return operatortest.After(t, s.world(), s.kill(1)) }},
		"Roll": {1, func(t *testing.T, s *subject) operatortest.World {
			roll := s.change(2, func(spec *v1alpha1.NodePoolSpec) {
				spec.Version, spec.Template.Labels = "v1.36.2", map[string]string{"tier": "web"}
			})
			return operatortest.After(t, s.world(), roll)
		}},
		"Delete": {1, func(t *testing.T, s *subject) operatortest.World {
			return operatortest.After(t, s.world(), s.deletion(pool(s)))
		}},
		"DeleteHalfMade": {2, func(_ *testing.T, s *subject) operatortest.World {
			w, act := s.world(), s.deletion(pool(s))
			w.Then = &act
			return w
		}},
		"ClusterGone": {1, func(t *testing.T, s *subject) operatortest.World {
			act := s.deletion(&v1alpha1.Cluster{ObjectMeta: s.named("demo")})
			act.Done = func(ctx context.Context) (bool, error) {
				c, err := s.falseCondition(ctx, v1alpha1.ConditionReady)
				return c.Reason == v1alpha1.ReasonClusterNotFound && c.Message == `there is no cluster "demo" in namespace `+s.key.Namespace, err
			}
			return operatortest.After(t, s.world(), act)
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			operatortest.RunParallel(t, func(t *testing.T) operatortest.World { return tc.world(t, newSubject(t, pooled(tc.replicas))) })
		})
	}
}

// TestNodePoolEndState says in words what the runs under faults are compared with.
func TestNodePoolEndState(t *testing.T) {
	s := newSubject(t, pooled(2))
	operatortest.Converge(t, s.world())
	live, err := s.live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.pool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(live) != 2 || p.Status.Replicas != 2 || p.Status.ReadyReplicas != 2 || p.Status.UpdatedReplicas != 2 || p.Status.Selector != "kqueen.io/nodepool=pool" || len(p.Finalizers) != 1 {
		t.Errorf("want two machines, said so, and a finalizer, got %d and %+v %v", len(live), p.Status, p.Finalizers)
	}
	for _, m := range live {
		owner := m.OwnerReferences
		if len(owner) != 1 || owner[0].UID != p.UID || owner[0].Controller == nil || !*owner[0].Controller || owner[0].Kind != "NodePool" {
			t.Errorf("want the pool to own machine %s, got %+v", m.Name, owner)
		}
		if m.Labels[v1alpha1.LabelCluster] != "demo" || m.Labels[v1alpha1.LabelNodePool] != "pool" || m.Spec.Version != "v1.36.3" || m.Spec.ClusterName != "demo" || m.Name[:5] != "pool-" {
			t.Errorf("want a machine of the pool, got %s %v %+v", m.Name, m.Labels, m.Spec)
		}
	}
	operatortest.Converge(t, operatortest.After(t, s.world(), s.deletion(&v1alpha1.NodePool{ObjectMeta: s.named("pool")})))
	if all, err := s.machines(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("the pool is gone and %d machines are there: %v", len(all), err)
	}
}

// TestForeignMachines: machines of no pool, of another pool and of another cluster are left alone.
func TestForeignMachines(t *testing.T) {
	s := newSubject(t, pooled(1))
	s.most = 4
	other := &v1alpha1.NodePool{ObjectMeta: s.named("pool2"), Spec: pooled(1)}
	other.Spec.ClusterName = "demo"
	s.create(t, other)
	foreign := []*v1alpha1.Machine{newMachine(other, "v1.36.3"), newMachine(other, "v1.36.3"), newMachine(other, "v1.36.3")}
	foreign[1].OwnerReferences, foreign[2].OwnerReferences[0].UID = nil, "of-a-pool-that-was-here-before"
	foreign[2].Labels[v1alpha1.LabelNodePool] = "pool"
	for _, m := range foreign {
		s.create(t, m)
	}
	operatortest.Converge(t, s.world())
	operatortest.Converge(t, operatortest.After(t, s.world(), s.deletion(&v1alpha1.NodePool{ObjectMeta: s.named("pool")})))
	left, err := s.live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 3 || !slices.ContainsFunc(left, func(m v1alpha1.Machine) bool { return m.Name == foreign[2].Name }) {
		t.Errorf("want the three machines that are not the pool's, got %d", len(left))
	}
}
