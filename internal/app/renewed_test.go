//go:build linux

package app

import (
	"bytes"
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/pki"
)

// TestRenewedStore: when the engine has renewed the certificate of its data store's root user, reconcilers get it.
func TestRenewedStore(t *testing.T) {
	admin := controlplanetest.Client(t)
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
	if err := client.IgnoreAlreadyExists(admin.Create(t.Context(), system)); err != nil {
		t.Fatal(err)
	}
	plane := &engine.Plane{Config: controlplanetest.Config(t)}
	if err := renewed(t.Context(), plane); err != nil {
		t.Errorf("an engine without a data store: %v", err)
	}
	keys := pki.Bundle{"ca.crt": []byte("ca"), "ca.key": []byte("key"), "root.crt": []byte("1"), "root.key": []byte("1")}
	plane.Store = &engine.Store{Endpoint: "https://127.0.0.1:2379", Keys: keys}
	for _, text := range []string{"1", "2"} {
		keys["root.crt"], keys["root.key"] = []byte(text), []byte(text)
		if err := renewed(t.Context(), plane); err != nil {
			t.Fatal(err)
		}
		secret := &corev1.Secret{}
		if err := admin.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "datastore-default"}, secret); err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(secret.Data, keys, bytes.Equal) {
			t.Errorf("reconcilers get %v, want %v", secret.Data, keys)
		}
	}
	t.Cleanup(func() { // no other test has a data store
		ds := &v1alpha1.DataStore{}
		ds.Name = "default"
		if err := admin.Delete(context.WithoutCancel(t.Context()), ds); err != nil {
			t.Error(err)
		}
	})
}
