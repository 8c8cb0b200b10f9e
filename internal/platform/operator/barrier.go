package operator

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Barrier holds a reconciler back whose objects are made of others, until these were looked at for the first time. Otherwise it would take what their
// statuses say of an earlier life for true, call a cluster that does not run yet, and write nothing until the call has ended.
type Barrier struct {
	most   time.Duration
	once   sync.Once
	opened chan struct{}
}

// NewBarrier returns one that opens by itself when a run has been held for so long: what cannot be looked at keeps nothing else from being done.
func NewBarrier(most time.Duration) *Barrier {
	return &Barrier{most: most, opened: make(chan struct{})}
}

// Open lets all runs go on, for good.
func (b *Barrier) Open() { b.once.Do(func() { close(b.opened) }) }

// Hold wraps r: each run of it waits for the barrier.
func (b *Barrier) Hold(r reconcile.Reconciler) reconcile.Reconciler { return held{r, b} }

type held struct {
	reconcile.Reconciler
	by *Barrier
}

func (h held) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	most := time.NewTimer(h.by.most)
	defer most.Stop()
	select {
	case <-h.by.opened:
	case <-most.C:
		h.by.Open()
	case <-ctx.Done():
		return reconcile.Result{}, context.Cause(ctx)
	}
	return h.Reconciler.Reconcile(ctx, req)
}
