package kube

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

const manager = "kqueen-test"

// configMap is an object as it stands in a file.
func configMap(namespace, name string, data map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"data":     data,
	}}
}

// read returns a ConfigMap of the plane.
func read(t *testing.T, c client.Client, namespace, name string) *corev1.ConfigMap {
	t.Helper()
	found := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, found); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestApplyOwns: what is named is made so, even against another writer; what is not named any more goes;
// what others have added stays.
func TestApplyOwns(t *testing.T) {
	c := controlplanetest.Client(t)
	ns := controlplanetest.Namespace(t, c)
	apply := func(data map[string]any) {
		t.Helper()
		if err := Apply(t.Context(), c, []client.Object{configMap(ns, "a", data)}, manager); err != nil {
			t.Fatal(err)
		}
	}
	apply(map[string]any{"ours": "1", "dropped": "1"})

	other := read(t, c, ns, "a")
	other.Data["ours"], other.Data["theirs"] = "2", "2"
	if err := c.Update(t.Context(), other, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	apply(map[string]any{"ours": "1"})

	first := read(t, c, ns, "a")
	if diff := cmp.Diff(map[string]string{"ours": "1", "theirs": "2"}, first.Data); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	apply(map[string]any{"ours": "1"})
	if again := read(t, c, ns, "a"); again.ResourceVersion != first.ResourceVersion {
		t.Error("applying the same again changed the object")
	}
}

// TestApplyTyped: an object of Go type is applied too, without what only a server says, and is not changed.
func TestApplyTyped(t *testing.T) {
	c := controlplanetest.Client(t)
	labels := map[string]string{"app": "a"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: controlplanetest.Namespace(t, c), Name: "a", ResourceVersion: "1", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
			},
		},
		Status: appsv1.DeploymentStatus{Replicas: 7},
	}
	before := deployment.DeepCopy()
	var versions []string
	for range 2 {
		if err := Apply(t.Context(), c, []client.Object{deployment}, manager); err != nil {
			t.Fatal(err)
		}
		found := &appsv1.Deployment{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(deployment), found); err != nil {
			t.Fatal(err)
		}
		if found.Status.Replicas != 0 {
			t.Error("a status was applied")
		}
		versions = append(versions, found.ResourceVersion)
	}
	if versions[0] != versions[1] {
		t.Error("applying the same again changed the object")
	}
	if diff := cmp.Diff(before, deployment); diff != "" {
		t.Errorf("the object that was handed in changed (-before +after):\n%s", diff)
	}
}

// TestApplyStops: the error names the object that is refused; those before it are there, those after it are not.
func TestApplyStops(t *testing.T) {
	c := controlplanetest.Client(t)
	unknown := configMap("", "b", nil)
	unknown.Object["spec"] = map[string]any{"field": "unknown"}
	tests := map[string]struct {
		bad    func(namespace string) client.Object
		named  string
		reason func(error) bool
	}{
		"NoNamespace":  {func(string) client.Object { return configMap("nowhere", "b", nil) }, "apply ConfigMap nowhere/b: ", apierrors.IsNotFound},
		"UnknownField": {func(ns string) client.Object { u := unknown.DeepCopy(); u.SetNamespace(ns); return u }, "/b: ", nil},
		"BadName":      {func(ns string) client.Object { return configMap(ns, "B_", nil) }, "/B_: ", apierrors.IsInvalid},
		"NoKind":       {func(string) client.Object { return &unstructured.Unstructured{} }, "apply ", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ns := controlplanetest.Namespace(t, c)
			err := Apply(t.Context(), c, []client.Object{configMap(ns, "a", nil), tc.bad(ns), configMap(ns, "c", nil)}, manager)
			if err == nil || !strings.Contains(err.Error(), tc.named) || (tc.reason != nil && !tc.reason(err)) {
				t.Errorf("got error %v, want one with %q", err, tc.named)
			}
			read(t, c, ns, "a")
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "c"}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
				t.Errorf("what comes after the refused object was looked for with %v, want it not found", err)
			}
		})
	}
}

func TestApplyIsBounded(t *testing.T) {
	c := controlplanetest.Client(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Apply(ctx, c, []client.Object{configMap("default", "a", nil)}, manager); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}

func TestHash(t *testing.T) {
	a, b := configMap("n", "a", map[string]any{"k": "1"}), configMap("n", "b", nil)
	typed := func(object client.Object) client.Object { object.SetName("a"); return object }
	tests := map[string]struct {
		one, other []client.Object
		same       bool
	}{
		"Same":         {[]client.Object{a, b}, []client.Object{a.DeepCopy(), b.DeepCopy()}, true},
		"None":         {nil, []client.Object{}, true},
		"Order":        {[]client.Object{a, b}, []client.Object{b, a}, false},
		"Fewer":        {[]client.Object{a, b}, []client.Object{a}, false},
		"Content":      {[]client.Object{a}, []client.Object{configMap("n", "a", map[string]any{"k": "2"})}, false},
		"KindNotShown": {[]client.Object{typed(&corev1.ConfigMap{})}, []client.Object{typed(&corev1.Secret{})}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var hashes [2]string
			for i, objects := range [][]client.Object{tc.one, tc.other} {
				var err error
				if hashes[i], err = Hash(objects); err != nil || len(hashes[i]) != 64 {
					t.Fatalf("got %q, %v", hashes[i], err)
				}
			}
			if got := hashes[0] == hashes[1]; got != tc.same {
				t.Errorf("the hashes are the same: %v, want %v", got, tc.same)
			}
		})
	}
}
