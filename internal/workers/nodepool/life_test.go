package nodepool

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// becomes goes on until the act is done and returns the names of the machines, sorted. mostSeen of the
// subject is held all the way.
func (s *subject) becomes(t *testing.T, act operatortest.Act) []string {
	t.Helper()
	w := s.world()
	if err := act.Do(t.Context()); err != nil {
		t.Fatalf("act: %v", err)
	}
	w.Done = act.Done
	operatortest.Converge(t, w)
	live, err := s.live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range live {
		out = append(out, m.Name)
	}
	slices.Sort(out)
	return out
}

var nothing = func(context.Context) error { return nil }

// lost returns the names that are not there any more.
func lost(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(after, name) })
}

func TestScaleKeepsTargets(t *testing.T) {
	s := newSubject(t, pooled(1))
	have := s.becomes(t, operatortest.Act{Do: nothing, Done: s.ready})
	for _, n := range []int{3, 1, 0, 2} {
		next := s.becomes(t, s.scaleTo(int32(n)))
		if len(next) != n {
			t.Fatalf("want %d machines, got %v", n, next)
		}
		if kept := len(have) - len(lost(have, next)); kept != min(len(have), n) {
			t.Errorf("%d of %v were kept when %d are wanted: %v", kept, have, n, next)
		}
		s.most, have = n, next
	}
}

func TestScaleSubresource(t *testing.T) {
	s := newSubject(t, pooled(1))
	s.becomes(t, operatortest.Act{Do: nothing, Done: s.ready})
	p, err := s.pool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`))
	if err := s.client.SubResource("scale").Patch(t.Context(), p, patch); err != nil {
		t.Fatal(err)
	}
	s.most = 2
	if have := s.becomes(t, operatortest.Act{Do: nothing, Done: s.ready}); len(have) != 2 {
		t.Errorf("want 2 machines, got %v", have)
	}
}

// TestNamedDeletion: the machine that a user deletes goes, and another comes.
func TestNamedDeletion(t *testing.T) {
	s := newSubject(t, pooled(3))
	have := s.becomes(t, operatortest.Act{Do: nothing, Done: s.ready})
	named := &v1alpha1.Machine{ObjectMeta: s.named(have[1])}
	act := s.deletion(named)
	gone := act.Done
	act.Done = func(ctx context.Context) (bool, error) {
		if over, err := gone(ctx); err != nil || !over {
			return false, err
		}
		live, err := s.live(ctx)
		if err != nil || len(live) != 3 {
			return false, err
		}
		return s.ready(ctx)
	}
	if next := s.becomes(t, act); !slices.Equal(lost(have, next), []string{have[1]}) || len(next) != 3 {
		t.Errorf("want another for %s, got %v of %v", have[1], next, have)
	}
}

// TestDeleteFirst: with one fewer wanted, exactly the machine that the user chose goes.
func TestDeleteFirst(t *testing.T) {
	s := newSubject(t, pooled(4))
	have := s.becomes(t, operatortest.Act{Do: nothing, Done: s.ready})
	live, err := s.live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range live {
		if live[i].Name != have[2] {
			continue
		}
		before := live[i].DeepCopy()
		chosen(&live[i])
		if err := s.client.Patch(t.Context(), &live[i], client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	if next := s.becomes(t, s.scaleTo(3)); !slices.Equal(lost(have, next), []string{have[2]}) {
		t.Errorf("want %s gone, got %v of %v", have[2], next, have)
	}
}

func TestDeadNodeIsReplaced(t *testing.T) {
	s := newSubject(t, pooled(3))
	have := s.becomes(t, operatortest.Act{Do: nothing, Done: s.ready})
	next := s.becomes(t, s.kill(1))
	if gone := lost(have, next); len(gone) != 1 || !s.dead[gone[0]] || len(next) != 3 {
		t.Errorf("want the dead one of %v replaced, got %v", have, next)
	}
}

// TestThreeOfFourDead: nothing is killed and the condition says why, for as long as it lasts.
func TestThreeOfFourDead(t *testing.T) {
	s := newSubject(t, pooled(4))
	have := s.becomes(t, operatortest.Act{Do: nothing, Done: s.ready})
	act := s.kill(3)
	act.Done = s.says(v1alpha1.ConditionHealthy, v1alpha1.ReasonTooManyUnhealthy)
	if next := s.becomes(t, act); !slices.Equal(have, next) {
		t.Fatalf("want nothing killed, got %v of %v", next, have)
	}
	rounds := 0
	act = operatortest.Act{Do: nothing, Done: func(context.Context) (bool, error) { rounds++; return rounds > 10, nil }}
	if next := s.becomes(t, act); !slices.Equal(have, next) {
		t.Errorf("after %d more rounds: want nothing killed, got %v of %v", rounds, next, have)
	}
	c, err := s.falseCondition(t.Context(), v1alpha1.ConditionHealthy)
	if err != nil || c.Reason != v1alpha1.ReasonTooManyUnhealthy {
		t.Fatalf("want the condition to stay, got %+v, %v", c, err)
	}
	for _, part := range append(slices.Collect(keys(s.dead)), "3 of 4", "allows 1", "spec.health.maxUnhealthy") {
		if !strings.Contains(c.Message, part) {
			t.Errorf("want %q in %q", part, c.Message)
		}
	}
	ready, err := s.falseCondition(t.Context(), v1alpha1.ConditionReady)
	if err != nil || ready.Message != c.Message {
		t.Errorf("want Ready to repeat it, got %q, %v", ready.Message, err)
	}

	// Scaling goes on meanwhile: one more is wanted and comes.
	act = s.scaleTo(5)
	act.Done = func(ctx context.Context) (bool, error) {
		live, err := s.live(ctx)
		return len(live) == 5, err
	}
	s.becomes(t, act)
	// Two of them come back: the last is one that may be replaced.
	back := 0
	for name := range s.dead {
		if back < 2 {
			s.dead[name] = false
			back++
		}
	}
	act = s.kill(0)
	if next := s.becomes(t, act); len(lost(have, next)) != 1 || len(next) != 5 {
		t.Errorf("want one replaced, got %v of %v", next, have)
	}
}

func keys(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestRoll: a new version comes one machine at a time, above what is wanted and never below it.
func TestRoll(t *testing.T) {
	spec := pooled(3)
	spec.Version = "v1.35.4"
	s := newSubject(t, spec)
	have := s.becomes(t, operatortest.Act{Do: nothing, Done: s.ready})
	act := s.change(4, func(spec *v1alpha1.NodePoolSpec) { spec.Version = "" })
	done := act.Done
	fewest, most := 3, 0
	act.Done = func(ctx context.Context) (bool, error) {
		live, err := s.live(ctx)
		if err != nil {
			return false, err
		}
		ready := 0
		for i := range live {
			if apimeta.IsStatusConditionTrue(live[i].Status.Conditions, v1alpha1.ConditionNodeReady) {
				ready++
			}
		}
		fewest, most = min(fewest, ready), max(most, len(live))
		return done(ctx)
	}
	next := s.becomes(t, act)
	if len(lost(have, next)) != 3 || len(next) != 3 || fewest != 3 || most != 4 {
		t.Errorf("want three others, at least 3 ready and up to 4 there, got %v of %v, %d, %d", next, have, fewest, most)
	}
	live, err := s.live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range live {
		if m.Spec.Version != "v1.36.3" { // the cluster's
			t.Errorf("machine %s has %s", m.Name, m.Spec.Version)
		}
	}
}

// TestRefusedVersion: the pool says so, keeps what it has and goes on when the version is put right.
func TestRefusedVersion(t *testing.T) {
	s := newSubject(t, pooled(2))
	have := s.becomes(t, operatortest.Act{Do: nothing, Done: s.ready})
	for _, version := range []string{"v1.37.0", "v1.32.9"} {
		act := s.change(2, func(spec *v1alpha1.NodePoolSpec) { spec.Version = version })
		act.Done = s.says(v1alpha1.ConditionUpdated, v1alpha1.ReasonRefused)
		if next := s.becomes(t, act); !slices.Equal(have, next) {
			t.Errorf("want nothing changed, got %v of %v", next, have)
		}
		p, err := s.pool(t.Context())
		stalled := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled)
		if err != nil || stalled == nil || stalled.Status != metav1.ConditionTrue || !strings.Contains(stalled.Message, "spec.version: "+version) {
			t.Errorf("want the pool stalled for spec.version, got %+v, %v", stalled, err)
		}
	}
	if next := s.becomes(t, s.change(2, func(spec *v1alpha1.NodePoolSpec) { spec.Version = "" })); !slices.Equal(have, next) {
		t.Errorf("want nothing changed, got %v of %v", next, have)
	}
}

// TestClusterIsNotReady: nothing is made before the cluster takes nodes, and what is in the way is said.
func TestClusterIsNotReady(t *testing.T) {
	s := newSubject(t, pooled(1))
	s.prepared = errors.New("the network cannot be installed: quota")
	waits := func(message string) operatortest.Act {
		return operatortest.Act{Do: nothing, Done: func(ctx context.Context) (bool, error) {
			c, err := s.falseCondition(ctx, v1alpha1.ConditionClusterReady)
			return c.Reason == v1alpha1.ReasonClusterNotReady && strings.Contains(c.Message, message), err
		}}
	}
	if have := s.becomes(t, waits(s.prepared.Error())); len(have) > 0 {
		t.Errorf("want no machine in a cluster that is not prepared, got %v", have)
	}
	p, err := s.pool(t.Context())
	if err != nil || p.Status.NextRetryTime == nil {
		t.Errorf("want it tried again, got %v, %v", p.Status.NextRetryTime, err)
	}
	down := operatortest.Act{Do: s.stops, Done: waits(stopped).Done}
	s.prepared = nil
	if have := s.becomes(t, down); len(have) > 0 {
		t.Errorf("want no machine in a cluster whose API server is not healthy, got %v", have)
	}
	if have := s.becomes(t, operatortest.Act{Do: s.serve, Done: s.ready}); len(have) != 1 {
		t.Errorf("want a machine, got %v", have)
	}
}

// stopped is what a cluster says whose API server does not answer.
const stopped = "the API server starts"

// stops has the API server of the cluster not answer.
func (s *subject) stops(ctx context.Context) error {
	c := &v1alpha1.Cluster{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: "demo"}, c); err != nil {
		return err
	}
	c.Status.Conditions[0].Status, c.Status.Conditions[0].Message = metav1.ConditionFalse, stopped
	return s.client.Status().Update(ctx, c)
}

// TestClusterStops: a pool counts a node as ready no more that is not, also while its cluster lacks something. After a stop of the host it said
// for minutes how many there had been, and a start waited for it in vain.
func TestClusterStops(t *testing.T) {
	s := newSubject(t, pooled(2))
	have := s.becomes(t, operatortest.Act{Do: nothing, Done: s.ready})
	act := s.kill(1)
	dies := act.Do
	act.Do = func(ctx context.Context) error { return errors.Join(s.stops(ctx), dies(ctx)) }
	act.Done = func(ctx context.Context) (bool, error) {
		p, err := s.pool(ctx)
		return err == nil && p.Status.ReadyReplicas == 1, err
	}
	if next := s.becomes(t, act); !slices.Equal(have, next) {
		t.Errorf("want nothing changed, got %v of %v", next, have)
	}
}

// TestClusterIsBeingDeleted: the machines go while the cluster is still there to drain them from.
func TestClusterIsBeingDeleted(t *testing.T) {
	s := newSubject(t, pooled(2))
	s.becomes(t, operatortest.Act{Do: nothing, Done: s.ready})
	act := operatortest.Act{
		Do: func(ctx context.Context) error {
			c := &v1alpha1.Cluster{}
			if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: "demo"}, c); err != nil {
				return err
			}
			c.Finalizers = append(c.Finalizers, "kqueen.io/test")
			if err := s.client.Update(ctx, c); err != nil {
				return err
			}
			return s.client.Delete(ctx, c)
		},
		Done: func(ctx context.Context) (bool, error) {
			c, err := s.falseCondition(ctx, v1alpha1.ConditionClusterReady)
			return c.Message == `cluster "demo" is being deleted`, err
		},
	}
	if have := s.becomes(t, act); len(have) > 0 {
		t.Errorf("want no machine left, got %v", have)
	}
}

// TestDeletionWaitsForMachines: the record stays until the last machine is gone, and counts those that remain.
func TestDeletionWaitsForMachines(t *testing.T) {
	s := newSubject(t, pooled(2))
	have := s.becomes(t, operatortest.Act{Do: nothing, Done: s.ready})
	s.stuck = true
	deletion := s.deletion(&v1alpha1.NodePool{ObjectMeta: s.named("pool")})
	waits := operatortest.Act{Do: deletion.Do, Done: func(ctx context.Context) (bool, error) {
		c, err := s.falseCondition(ctx, v1alpha1.ConditionReady)
		return c.Reason == v1alpha1.ReasonDeleting && c.Message == "2 machines being removed: "+strings.Join(have, ", "), err
	}}
	s.becomes(t, waits)
	s.stuck = false
	s.becomes(t, operatortest.Act{Do: func(ctx context.Context) error { _, err := s.step(ctx); return err }, Done: func(ctx context.Context) (bool, error) {
		_, err := s.pool(ctx)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}})
}

// TestStaleCache: a cache that has not seen what was just made, or what the user just wants, makes nothing twice.
func TestStaleCache(t *testing.T) {
	s := newSubject(t, pooled(2))
	frozen := &v1alpha1.MachineList{}
	stale := interceptor.NewClient(s.client, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			frozen.DeepCopyInto(list.(*v1alpha1.MachineList))
			return nil
		},
	})
	config := s.config(stale)
	config.Reader = s.client
	r := New(config)
	for range 4 {
		if _, err := r.Reconcile(t.Context(), s.world().Request); err != nil {
			t.Fatal(err)
		}
		operatortest.CheckStatus(t, must(s.pool(t.Context()))(t))
	}
	if live := must(s.live(t.Context()))(t); len(live) != 2 {
		t.Errorf("want 2 machines from a cache that sees none, got %d", len(live))
	}
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
