package operator

import (
	"context"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// TestWaitLooked: what is judged, what goes away and what is being deleted does not keep an installation from being ready.
func TestWaitLooked(t *testing.T) {
	c := controlplanetest.Client(t)
	store := func(name string, finalizers ...string) *v1alpha1.DataStore {
		o := &v1alpha1.DataStore{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}, Spec: v1alpha1.DataStoreSpec{
			Endpoints: []string{"https://127.0.0.1:1"}, CredentialsRef: v1alpha1.SecretReference{Namespace: "default", Name: "none"},
		}}
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	judged, gone, held := store("looked-judged"), store("looked-gone"), store("looked-held", "example.com/elsewhere")
	if err := c.Delete(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Patch(context.WithoutCancel(t.Context()), held, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
		_ = c.Delete(context.WithoutCancel(t.Context()), judged)
	})
	done := started(func() error { return WaitLooked(t.Context(), c, &v1alpha1.DataStoreList{}) })
	if err := c.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	judged.Status.ObservedGeneration = judged.Generation
	apimeta.SetStatusCondition(&judged.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Test"})
	if err := c.Status().Update(t.Context(), judged); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func started(act func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- act() }()
	return done
}
