package operator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestWaitAgreed: the wait ends with agreement, with an error, and after its time.
func TestWaitAgreed(t *testing.T) {
	const within = 10 * time.Second
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		agree  func(ctx context.Context, look int) (bool, error)
		took   time.Duration
		agreed bool
		err    error
	}{
		"AtOnce": {func(context.Context, int) (bool, error) { return true, nil }, 0, true, nil},
		"Later":  {func(_ context.Context, look int) (bool, error) { return look == 3, nil }, 2 * agreeEvery, true, nil},
		"Never":  {func(context.Context, int) (bool, error) { return false, nil }, within, false, nil},
		"Broken": {func(context.Context, int) (bool, error) { return false, broken }, 0, false, broken},
		"Silent": {func(ctx context.Context, _ int) (bool, error) { <-ctx.Done(); return false, ctx.Err() }, within, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				began, look := time.Now(), 0
				agreed, err := WaitAgreed(ctx, func(ctx context.Context) (bool, error) {
					look++
					return tc.agree(ctx, look)
				})
				if took := time.Since(began); took != tc.took || agreed != tc.agreed || !errors.Is(err, tc.err) {
					t.Errorf("it took %s and ended with %t, %v, want %s and %t, %v", took, agreed, err, tc.took, tc.agreed, tc.err)
				}
			})
		})
	}
}
