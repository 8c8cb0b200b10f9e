package operator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestBarrier: a run waits until the barrier is opened, for so long at most, or until its end; what was opened stays open.
func TestBarrier(t *testing.T) {
	const most = 20 * time.Second
	tests := map[string]struct {
		opens, ends time.Duration // 0 for never
		waits       time.Duration
		runs        bool
	}{
		"is opened":       {opens: 3 * time.Second, waits: 3 * time.Second, runs: true},
		"is never opened": {waits: most, runs: true},
		"ends before":     {ends: time.Second, waits: time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				b := NewBarrier(most)
				r := b.Hold(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
					runs++
					return reconcile.Result{}, nil
				}))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.opens > 0 {
					time.AfterFunc(tc.opens, b.Open)
				}
				if tc.ends > 0 {
					time.AfterFunc(tc.ends, cancel)
				}
				began := time.Now()
				_, err := r.Reconcile(ctx, reconcile.Request{})
				if waited := time.Since(began); waited != tc.waits || runs == 1 != tc.runs || errors.Is(err, context.Canceled) == tc.runs {
					t.Errorf("after %s it ran %d times: %v", waited, runs, err)
				}
				if !tc.runs {
					return
				}
				began = time.Now()
				if _, err := r.Reconcile(ctx, reconcile.Request{}); err != nil || time.Since(began) != 0 || runs != 2 {
					t.Errorf("once it is open, a run waits for %s: %v", time.Since(began), err)
				}
			})
		})
	}
}
