//go:build linux

package app

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// TestStuck: a reconciler that is busy with one object for too long is named, until it is done with that.
func TestStuck(t *testing.T) {
	const name = "a-reconciler-that-hangs"
	q := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.DefaultTypedControllerRateLimiter[string](), workqueue.TypedRateLimitingQueueConfig[string]{Name: name})
	t.Cleanup(q.ShutDown)
	said := func(after time.Duration) bool {
		err := stuck(after)
		return err != nil && strings.Contains(err.Error(), name)
	}
	until := func(want bool) {
		t.Helper()
		tick, late := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
		defer tick.Stop()
		for said(time.Millisecond) != want {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("it is said to be stuck: %t", !want)
			}
		}
	}
	q.Add("object")
	object, _ := q.Get()
	until(true)
	if said(longestReconcile) {
		t.Error("it is said to be stuck after a moment")
	}
	q.Done(object)
	until(false)
}
