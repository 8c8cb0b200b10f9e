// Package suitetest is what suites of promises have in common: each promise is a test of its own, on a subject of its
// own, and is waited for.
//
// Only tests and packages for tests may import it.
package suitetest

import (
	"context"
	"testing"
	"time"
)

// Run runs each test beside the others. open returns a subject that nothing has used yet, and cleans up after the test.
func Run[S any](t *testing.T, open func(t *testing.T) S, tests map[string]func(t *testing.T, s S)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// Await looks until ok says yes to what it sees. It fails the test, showing what it saw last, after a generous minute.
func Await[S any](t *testing.T, look func(ctx context.Context) (S, error), ok func(S) bool) S {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := look(ctx)
		if err == nil && ok(s) {
			return s
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain; saw last: %+v, %v", s, err)
		}
	}
}
