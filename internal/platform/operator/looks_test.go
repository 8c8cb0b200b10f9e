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
	looks := NewFirstLooks(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, errors.New("a look that failed is a look")
	}))
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	look := func(name types.NamespacedName) {
		if _, err := looks.Reconcile(t.Context(), reconcile.Request{NamespacedName: name}); err == nil {
			t.Error("the reconciler's error was lost")
		}
	}
	look(a)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := looks.Wait(ended, []types.NamespacedName{a, b}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "at 1 objects, "+b.String()) {
		t.Errorf("wait before all were looked at: %v, want that it goes on until its context ends, and names what is left", err)
	}
	done := make(chan error, 1)
	go func() { done <- looks.Wait(t.Context(), []types.NamespacedName{a, b}) }()
	look(b)
	if err := <-done; err != nil {
		t.Errorf("wait after all were looked at: %v", err)
	}
	look(a) // Wait has returned
	if err := NewFirstLooks(looks).Wait(t.Context(), nil); err != nil {
		t.Errorf("wait for nothing: %v", err)
	}
}
