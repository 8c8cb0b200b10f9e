package operator

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// FirstLooks is a reconciler that remembers what it has looked at. After a stop or a power failure a
// status speaks of an earlier life until its first look in this one: it calls ready what does not even run.
type FirstLooks struct {
	reconcile.Reconciler
	mu      sync.Mutex
	looked  map[types.NamespacedName]bool
	changed chan struct{} // receives a value after a look
}

// NewFirstLooks wraps r.
func NewFirstLooks(r reconcile.Reconciler) *FirstLooks {
	return &FirstLooks{Reconciler: r, looked: map[types.NamespacedName]bool{}, changed: make(chan struct{}, 1)}
}

// Reconcile counts a look whose findings are in the status, good or bad, and not one of which nothing could be written.
func (f *FirstLooks) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := f.Reconciler.Reconcile(ctx, req)
	if err == nil {
		f.mark(req.NamespacedName)
	}
	return result, err
}

func (f *FirstLooks) mark(name types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.looked == nil { // Wait has returned
		return
	}
	f.looked[name] = true
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// Wait waits until the reconciler has looked at all. It may be called once.
func (f *FirstLooks) Wait(ctx context.Context, names []types.NamespacedName) error {
	missing := func() []types.NamespacedName {
		f.mu.Lock()
		defer f.mu.Unlock()
		var left []types.NamespacedName
		for _, name := range names {
			if !f.looked[name] {
				left = append(left, name)
			}
		}
		if len(left) == 0 {
			f.looked = nil
		}
		return left
	}
	for left := missing(); len(left) > 0; left = missing() {
		select {
		case <-f.changed:
		case <-ctx.Done():
			return fmt.Errorf("look for the first time at %d objects, %s for one: %w", len(left), left[0], context.Cause(ctx))
		}
	}
	return nil
}
