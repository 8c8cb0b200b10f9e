package rehearsal

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// TestRealServer: a real API server reads and writes all that it has itself stored, and nothing of that is a finding but what is planted.
func TestRealServer(t *testing.T) {
	c := controlplanetest.Client(t)
	namespace := controlplanetest.Namespace(t, c)
	for n := range 3 {
		if err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("map-%d", n)}}); err != nil {
			t.Fatal(err)
		}
	}
	opened, err := NewServer(controlplanetest.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	unreachable(t, c, opened.(*server).discovery)
	stored := func() inventory {
		t.Helper()
		all := map[string]string{}
		for key, value := range controlplanetest.Stored(t) {
			// What expires by itself is in no copy.
			if !strings.HasPrefix(key, "events/") && !strings.HasPrefix(key, "masterleases/") && !strings.HasPrefix(key, "peerserverleases/") {
				all[key] = string(value)
			}
		}
		i, err := take(entriesOf(all))
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	look := func() *trial {
		t.Helper()
		tr := &trial{server: opened, version: "v1.36.3", stale: map[writer]*example{}, again: func() (inventory, error) { return stored(), nil }}
		before := stored()
		definitions, err := tr.settle(t.Context(), before)
		if err != nil {
			t.Fatal(err)
		}
		tr.before = tr.served
		if err := tr.run(t.Context(), before, definitions); err != nil {
			t.Fatal(err)
		}
		return tr
	}
	all := look().report
	if len(all.findings) > 0 {
		t.Errorf("found %v", findingsOf(all.findings))
	}
	objects := int64(0)
	for kind, of := range stored() {
		if !internal[kind] {
			objects += int64(len(of))
		}
	}
	if all.kinds < 15 || all.objects != objects || all.written != objects {
		t.Errorf("looked at %d objects of %d kinds and wrote %d again, want %d", all.objects, all.kinds, all.written, objects)
	}

	old := plant(t, c, namespace)
	want := []string{
		"Blocks StoredVersions: Widget " + namespace + "/old: it is stored as " + old.Group + "/v1alpha1, a version that CustomResourceDefinition " + old.Resource + "." + old.Group +
			" does not have: no object of the kind can be listed",
	}
	if diff := cmp.Diff(want, findingsOf(look().report.findings)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// unreachable has the API server serve a group by a Service that does not answer, as the copy of a cluster with metrics does.
func unreachable(t *testing.T, c client.Client, d discovery.DiscoveryInterface) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
		"service": map[string]any{"namespace": "kube-system", "name": "none"},
	}}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	o.SetName("v1beta1.metrics.k8s.io")
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), o); err != nil {
			t.Error(err)
		}
	})
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, controlplanetest.StartTimeout, true, func(context.Context) (bool, error) {
		_, err := discovery.ServerPreferredResources(d)
		return discovery.IsGroupDiscoveryFailedError(err), nil
	})
	if err != nil {
		t.Fatalf("the group was never missing: %v", err)
	}
}

// plant stores an object in a version that its definition then does not have any more.
func plant(t *testing.T, c client.Client, namespace string) schema.GroupResource {
	t.Helper()
	group := "rehearsal.example.com"
	open := true
	version := func(name string, stored bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: stored,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open}},
		}
	}
	d := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", false), version("v1alpha1", true)},
		},
	}
	content, err := client.New(controlplanetest.Config(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = apiextensionsv1.AddToScheme(content.Scheme())
	if err := content.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	create := func(version, name string) {
		t.Helper()
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: "Widget"})
		o.SetNamespace(namespace)
		o.SetName(name)
		var last error
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, controlplanetest.StartTimeout, true, func(ctx context.Context) (bool, error) {
			last = c.Create(ctx, o) // until the definition is served
			return last == nil, nil
		})
		if err != nil {
			t.Fatalf("%v: %v", err, last)
		}
	}
	create("v1alpha1", "old")
	if err := content.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		t.Fatal(err)
	}
	d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", true), version("v1alpha1", false)}
	if err := content.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	d.Status.StoredVersions = []string{"v1"}
	if err := content.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	d.Spec.Versions = d.Spec.Versions[:1]
	if err := content.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return schema.GroupResource{Group: group, Resource: "widgets"}
}
