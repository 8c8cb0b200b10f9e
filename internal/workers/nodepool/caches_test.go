package nodepool

import (
	"context"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// TestWithCachesAndWatches runs the reconciler as the program does: triggered by watches alone, reading from
// caches that lag behind. At no time are there more machines than wanted.
func TestWithCachesAndWatches(t *testing.T) {
	s := newSubject(t, pooled(1))
	s.run(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s.follow(ctx, t, 1)
	for _, n := range []int{3, 1, 0, 2} {
		if err := s.scaleTo(int32(n)).Do(ctx); err != nil {
			t.Fatal(err)
		}
		s.follow(ctx, t, n)
		s.most = n
	}
	// The machines go with the cluster, of which the pool hears by a watch too.
	if err := s.deletion(&v1alpha1.Cluster{ObjectMeta: s.named("demo")}).Do(ctx); err != nil {
		t.Fatal(err)
	}
	s.await(ctx, t, func() (bool, error) {
		all, err := s.machines(ctx)
		return len(all) == 0, err
	})
}

// run runs the reconciler in a manager until the test ends.
func (s *subject) run(t *testing.T) {
	t.Helper()
	mgr, err := ctrl.NewManager(controlplanetest.Config(t), ctrl.Options{
		Scheme:     controlplanetest.Scheme(t),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{s.key.Namespace: {}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := mgr.GetClient()
	config := s.config(c)
	config.Reader, config.Now = mgr.GetAPIReader(), time.Now
	err = ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.NodePool{}).Owns(&v1alpha1.Machine{}).
		Watches(&v1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(PoolsOf(c))).Complete(New(config))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run the manager: %v", err)
		}
	})
}

// follow waits until the pool is ready with so many machines, and fails when there are ever too many.
func (s *subject) follow(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	s.await(ctx, t, func() (bool, error) {
		all, err := s.machines(ctx)
		if err != nil || len(all) != n {
			return false, err
		}
		return s.ready(ctx)
	})
}

// await works on the machines until so, and fails when there are ever more than there may be.
func (s *subject) await(ctx context.Context, t *testing.T, so func() (bool, error)) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		// Another client may have written since the machine was read: then it is read again.
		if _, err := s.step(ctx); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
			t.Fatalf("work on the machines: %v", err)
		}
		if _, err := s.object(ctx); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		done, err := so()
		if done {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("it was not reached in time: %v, %v", err, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// TestPoolsOf: a change of a cluster is told to its own pools, in its own namespace.
func TestPoolsOf(t *testing.T) {
	s := newSubject(t, pooled(0))
	other := newSubject(t, pooled(0))
	spec := pooled(0)
	spec.ClusterName = "another"
	s.create(t, &v1alpha1.NodePool{ObjectMeta: s.named("elsewhere"), Spec: spec})
	got := PoolsOf(s.client)(t.Context(), &v1alpha1.Cluster{ObjectMeta: s.named("demo")})
	if len(got) != 1 || got[0].NamespacedName != s.key || got[0].Namespace == other.key.Namespace {
		t.Errorf("want %v, got %v", s.key, got)
	}
}
