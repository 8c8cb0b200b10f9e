package operator

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestFirstLooks(t *testing.T) {
	failed := errors.New("the status could not be written")
	var fails error
	looks := NewFirstLooks(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, fails
	}))
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	look := func(name types.NamespacedName) {
		if _, err := looks.Reconcile(t.Context(), reconcile.Request{NamespacedName: name}); !errors.Is(err, fails) {
			t.Errorf("the reconciler's error %v became %v", fails, err)
		}
	}
	look(a)
	fails = failed
	look(b)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := looks.Wait(ended, []types.NamespacedName{a, b}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "at 1 objects, "+b.String()) {
		t.Errorf("wait before all were looked at: %v, want that it goes on until its context ends, and names what is left: nothing is known of a look that wrote nothing", err)
	}
	done := make(chan error, 1)
	go func() { done <- looks.Wait(t.Context(), []types.NamespacedName{a, b}) }()
	fails = nil
	look(b)
	if err := <-done; err != nil {
		t.Errorf("wait after all were looked at: %v", err)
	}
	look(a) // Wait has returned
	if err := NewFirstLooks(looks).Wait(t.Context(), nil); err != nil {
		t.Errorf("wait for nothing: %v", err)
	}
}
