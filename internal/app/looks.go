//go:build linux

package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
)

const (
	// agreeEvery is the time between two looks at whether clusters know of their control planes.
	agreeEvery = 20 * time.Millisecond
	// agreeWithin bounds the wait: a cluster that cannot be looked at keeps nobody from being served.
	agreeWithin = 10 * time.Second
)

// firstLooks is a reconciler that remembers what it has looked at. After a stop or a power failure a
// status speaks of an earlier life until its first look in this one: it calls ready what does not even run.
type firstLooks struct {
	reconcile.Reconciler
	mu      sync.Mutex
	looked  map[types.NamespacedName]bool
	changed chan struct{} // receives a value after a look
}

func newFirstLooks(r reconcile.Reconciler) *firstLooks {
	return &firstLooks{Reconciler: r, looked: map[types.NamespacedName]bool{}, changed: make(chan struct{}, 1)}
}

// Reconcile counts a look that failed too: its error is in the status, or comes with the next one.
func (f *firstLooks) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	defer f.mark(req.NamespacedName)
	return f.Reconciler.Reconcile(ctx, req)
}

func (f *firstLooks) mark(name types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.looked == nil { // nobody waits any more
		return
	}
	f.looked[name] = true
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// wait waits until all were looked at. It may be called once.
func (f *firstLooks) wait(ctx context.Context, names []types.NamespacedName) error {
	missing := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		n := 0
		for _, name := range names {
			if !f.looked[name] {
				n++
			}
		}
		if n == 0 {
			f.looked = nil
		}
		return n
	}
	for n := missing(); n > 0; n = missing() {
		select {
		case <-f.changed:
		case <-ctx.Done():
			return fmt.Errorf("look at %d control planes: %w", n, context.Cause(ctx))
		}
	}
	return nil
}

// waitTruth waits until no status speaks of an earlier life: every control plane was looked at, and no
// cluster is called ready whose control plane is not.
func waitTruth(ctx context.Context, direct client.Reader, looks *firstLooks) error {
	planes := &v1alpha1.ControlPlaneList{}
	if err := direct.List(ctx, planes); err != nil {
		return fmt.Errorf("list control planes: %w", err)
	}
	var names []types.NamespacedName
	for i := range planes.Items {
		names = append(names, client.ObjectKeyFromObject(&planes.Items[i]))
	}
	if err := looks.wait(ctx, names); err != nil || len(names) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, agreeWithin)
	defer cancel()
	again := time.NewTicker(agreeEvery)
	defer again.Stop()
	for {
		agreed, err := agree(ctx, direct)
		if err != nil || agreed {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// agree says whether every cluster that is ready has a control plane that is, or none.
func agree(ctx context.Context, direct client.Reader) (bool, error) {
	planes, clusters := &v1alpha1.ControlPlaneList{}, &v1alpha1.ClusterList{}
	// The clusters come first: a control plane that fails in between is no disagreement of this start.
	if err := direct.List(ctx, clusters); err != nil {
		return false, fmt.Errorf("list clusters: %w", err)
	}
	if err := direct.List(ctx, planes); err != nil {
		return false, fmt.Errorf("list control planes: %w", err)
	}
	down := map[types.NamespacedName]bool{}
	for i := range planes.Items {
		p := &planes.Items[i]
		down[client.ObjectKeyFromObject(p)] = !apimeta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)
	}
	for i := range clusters.Items {
		c := &clusters.Items[i]
		if down[client.ObjectKeyFromObject(c)] && apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady) {
			return false, nil
		}
	}
	return true, nil
}
