package engine

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// TestInstallImported: an installation of before gets the provisioner of adopted clusters, once: what an administrator has deleted
// does not come back.
func TestInstallImported(t *testing.T) {
	c := controlplanetest.Client(t)
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
	marker := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: installedMarker}}
	for _, before := range []client.Object{system, marker} {
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), before)); err != nil {
			t.Fatal(err)
		}
	}
	imported := &v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "imported"}}
	install := func() error {
		t.Helper()
		if err := installOnce(t.Context(), c, "/backups"); err != nil {
			t.Fatal(err)
		}
		return c.Get(t.Context(), client.ObjectKeyFromObject(imported), imported)
	}
	if err := install(); err != nil || imported.Spec.Driver != "imported" {
		t.Errorf("it is not there: %v", err)
	}
	if err := c.Delete(t.Context(), imported); err != nil {
		t.Fatal(err)
	}
	if err := install(); !apierrors.IsNotFound(err) {
		t.Errorf("it came back: %v", err)
	}
	store := &v1alpha1.BackupStore{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "default"}, store); err != nil || store.Spec.Directory != "/backups" {
		t.Errorf("the backup store has the directory %q: %v", store.Spec.Directory, err)
	}
	hosted := &v1alpha1.Provisioner{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "hosted"}, hosted); !apierrors.IsNotFound(err) {
		t.Errorf("the provisioner hosted came back: %v", err)
	}
}
