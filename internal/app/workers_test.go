//go:build linux

package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/operator"
)

// TestAwaitWorkers: after a stop of the host machines and pools are as ready as they were. A start waits until the machines were
// looked at, and the pools count them as they are.
func TestAwaitWorkers(t *testing.T) {
	c := controlplanetest.Client(t)
	pool := &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "earlier"}, Spec: v1alpha1.NodePoolSpec{ClusterName: "demo"}}
	m := &v1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "earlier-a"},
		Spec:       v1alpha1.MachineSpec{ClusterName: "demo", Version: "v1.36.3", Provider: v1alpha1.ProviderManual},
	}
	for _, o := range []client.Object{pool, m} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), o) })
		m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pool, v1alpha1.GroupVersion.WithKind("NodePool"))}
	}
	node := func(status metav1.ConditionStatus) error {
		apimeta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionNodeReady, Status: status, Reason: "Test"})
		return c.Status().Update(t.Context(), m)
	}
	counts := func(n int32) error {
		pool.Status.ReadyReplicas = n
		return c.Status().Update(t.Context(), pool)
	}
	if err := errors.Join(node(metav1.ConditionTrue), counts(1)); err != nil {
		t.Fatal(err)
	}
	var looked, begun, counted atomic.Bool
	looks := operator.NewFirstLooks(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		looked.Store(true)
		return reconcile.Result{}, node(metav1.ConditionUnknown)
	}))
	done := make(chan error, 1)
	go func() {
		begin := func(context.Context) error {
			if !looked.Load() || counted.Load() {
				return errors.New("the pool was looked at before the machine, or after it was waited for")
			}
			begun.Store(true)
			return nil
		}
		err := awaitWorkers(t.Context(), c, looks, begin, slog.New(slog.DiscardHandler))
		if err == nil && (!begun.Load() || !counted.Load()) {
			err = errors.New("it did not wait for a look at the machine, or for the pool to count it")
		}
		done <- err
	}()
	if _, err := looks.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(m)}); err != nil {
		t.Fatal(err)
	}
	for !begun.Load() {
		select {
		case err := <-done:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	counted.Store(true)
	if err := counts(0); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// away is an admin plane with a control plane and a machine, of which nothing can be written, and no clusters or pools.
type away struct{ client.Reader }

func (away) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	is := metav1.ObjectMeta{Namespace: "default", Name: "away"}
	switch list := list.(type) {
	case *v1alpha1.ControlPlaneList:
		list.Items = []v1alpha1.ControlPlane{{ObjectMeta: is}}
	case *v1alpha1.MachineList:
		list.Items = []v1alpha1.Machine{{ObjectMeta: is}}
	}
	return nil
}

// TestTheStartIsBounded: an object that cannot be looked at, or whose status cannot be written, as on a full disk, keeps the rest from being
// served for a moment alone.
func TestTheStartIsBounded(t *testing.T) {
	unseen := func() *operator.FirstLooks { return operator.NewFirstLooks(nil) }
	begun := 0
	begin := func(context.Context) error {
		begun++
		return nil
	}
	for name, await := range map[string]func(context.Context, *slog.Logger) error{
		"Planes": func(ctx context.Context, log *slog.Logger) error {
			return awaitPlanes(ctx, away{}, []*operator.FirstLooks{unseen()}, begin, log)
		},
		"Workers": func(ctx context.Context, log *slog.Logger) error {
			return awaitWorkers(ctx, away{}, unseen(), begin, log)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, said := time.Now(), &bytes.Buffer{}
				begun = 0
				log := slog.New(slog.NewTextHandler(said, nil))
				if err := await(t.Context(), log); err != nil || time.Since(began) != lookedAtLast {
					t.Errorf("it waits for %s and ends with %v, want %s", time.Since(began), err, lookedAtLast)
				}
				if !strings.Contains(said.String(), "level=WARN") || !strings.Contains(said.String(), "default/away") {
					t.Errorf("the log does not say what was not looked at: %q", said)
				}
				if begun != 1 {
					t.Errorf("what is made of it begins to be looked at %d times", begun)
				}
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				said.Reset()
				if err := await(ended, log); !errors.Is(err, context.Canceled) || said.Len() > 0 {
					t.Errorf("after its end: %v, and it says %q", err, said)
				}
			})
		})
	}
}

// overcounted is an admin plane with a pool that counts a node, and no machine.
type overcounted struct{ client.Reader }

func (overcounted) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if pools, ok := list.(*v1alpha1.NodePoolList); ok {
		pools.Items = []v1alpha1.NodePool{{Status: v1alpha1.NodePoolStatus{ReadyReplicas: 1}}}
	}
	return nil
}

// TestAwaitWorkersSaysWhatItLeaves: a pool that still counts a node of an earlier life is in the log.
func TestAwaitWorkersSaysWhatItLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := &bytes.Buffer{}
		err := awaitWorkers(t.Context(), overcounted{}, operator.NewFirstLooks(nil), func(context.Context) error { return nil }, slog.New(slog.NewTextHandler(said, nil)))
		if err != nil || !strings.Contains(said.String(), "a pool counts nodes as ready") {
			t.Errorf("it ends with %v and says %q", err, said)
		}
	})
}
