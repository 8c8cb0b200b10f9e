//go:build linux

package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/admission"
)

// TestAddonsAreValidated: an API server refuses settings of addons that the catalogue does not know in every kind that has some, and
// lets an object be changed that an earlier version has left with such a setting.
func TestAddonsAreValidated(t *testing.T) {
	admin := controlplanetest.Client(t)
	if err := admission.Suspend(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	setting := func(names ...string) (all []v1alpha1.AddonSetting) {
		for _, name := range names {
			all = append(all, v1alpha1.AddonSetting{Name: name, Enabled: new(bool)})
		}
		return all
	}
	o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{GenerateName: "addons-"}, Spec: v1alpha1.OrganizationSpec{Addons: setting("former")}}
	if err := admin.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	p := &v1alpha1.Provisioner{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "addons-", Namespace: metav1.NamespaceDefault}, Spec: v1alpha1.ProvisionerSpec{Driver: "hosted", Addons: setting("former")},
	}
	if err := admin.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	run(t, Config{
		Engine: existing{controlplanetest.Config(t), &admission.Caller{Name: controlplanetest.Webhooks(t).Name, Authority: controlplanetest.Webhooks(t).Authority}},
		Dir:    filepath.Join(t.TempDir(), "data"), Program: os.Args[0], Version: "test", Releases: t.TempDir(), Log: slog.New(slog.DiscardHandler),
	})
	refused := func(err error) {
		t.Helper()
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `spec.addons[0].name: Forbidden: there is no addon "nothing"`) {
			t.Errorf("got %v", err)
		}
	}
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{GenerateName: "addons-", Namespace: metav1.NamespaceDefault}, Spec: v1alpha1.ClusterSpec{Version: "v1.36.3", Addons: setting("nothing")}}
	refused(admin.Create(t.Context(), cluster, client.DryRunAll))
	change := func(of client.Object, set func(...string)) {
		t.Helper()
		err := patched(t, admin, of, func() { set("nothing", "former") })
		refused(err)
		if err := patched(t, admin, of, func() { set("coredns", "former") }); err != nil {
			t.Errorf("%T: what was left there keeps the rest from being changed: %v", of, err)
		}
	}
	change(o, func(names ...string) { o.Spec.Addons = setting(names...) })
	change(p, func(names ...string) { p.Spec.Addons = setting(names...) })
}

// patched changes an object as it is now.
func patched(t *testing.T, admin client.Client, o client.Object, change func()) error {
	t.Helper()
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	before := o.DeepCopyObject().(client.Object)
	change()
	return admin.Patch(t.Context(), o, client.MergeFrom(before))
}
