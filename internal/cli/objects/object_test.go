package objects

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	kqueen "kqueen.io/kqueen/client"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func TestFill(t *testing.T) {
	made, doomed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 3, 3, 4, 5, 0, time.UTC)
	from := &rest.Object{
		Kind: "NodePool", Name: "workers", Organization: "blue", UID: "u-1", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
		CreatedAt: made, DeletionRequestedAt: &doomed, Generation: 3, Revision: "42",
		Spec:   json.RawMessage(`{"clusterName":"demo","replicas":2}`),
		Status: json.RawMessage(`{"observedGeneration":3,"replicas":1}`),
	}
	at := metav1.NewTime(doomed.Local())
	want := &v1alpha1.NodePool{
		TypeMeta: metav1.TypeMeta{APIVersion: "kqueen.io/v1alpha1", Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "workers", Namespace: "org-blue", UID: "u-1", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
			CreationTimestamp: metav1.NewTime(made.Local()), DeletionTimestamp: &at, Generation: 3, ResourceVersion: "42",
		},
		Spec:   v1alpha1.NodePoolSpec{ClusterName: "demo", Replicas: 2},
		Status: v1alpha1.NodePoolStatus{Status: v1alpha1.Status{ObservedGeneration: 3}, Replicas: 1},
	}
	// What was there before leaves nothing behind.
	got := &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "other", Finalizers: []string{"x"}}, Spec: v1alpha1.NodePoolSpec{Version: "v1"}}
	if err := fill(from, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPlaces(t *testing.T) {
	tests := map[string]struct {
		object rest.Object
		want   string
	}{
		"Own":          {rest.Object{Kind: "Provisioner", Organization: "blue"}, "org-blue"},
		"Shared":       {rest.Object{Kind: "Provisioner"}, "kqueen-system"},
		"Organization": {rest.Object{Kind: "Organization"}, ""},
		"Release":      {rest.Object{Kind: "Release"}, ""},
	}
	for name, tc := range tests {
		if got := namespaceOf(&tc.object); got != tc.want {
			t.Errorf("%s: in %q, want %q", name, got, tc.want)
		}
	}
	for namespace, want := range map[string]string{"org-blue": "blue", "org-": "", "blue": "", "kqueen-system": ""} {
		if got, ok := organizationOf(namespace); ok != (want != "") || ok && got != want {
			t.Errorf("%s is of %q, %t", namespace, got, ok)
		}
	}
}

func TestInput(t *testing.T) {
	got, err := inputOf(&v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "org-blue", UID: "u", Labels: map[string]string{"a": "b"}, Finalizers: []string{"x"}},
		Spec:       v1alpha1.ClusterSpec{Version: "v1.36.3"},
		Status:     v1alpha1.ClusterStatus{Version: "v1.35.0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var spec map[string]any
	if err := json.Unmarshal(got.Spec, &spec); err != nil || spec["version"] != "v1.36.3" {
		t.Errorf("the spec is %s, %v", got.Spec, err)
	}
	got.Spec = nil
	if diff := cmp.Diff(rest.Input{Name: "demo", Labels: map[string]string{"a": "b"}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEvents(t *testing.T) {
	first, last := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 2, 3, 9, 5, 0, time.UTC)
	from := rest.ObjectEvent{
		LastSeenAt: last, FirstSeenAt: first, Type: "Warning", Reason: "Unhealthy", Message: "it does not answer", Count: 4,
		Object: rest.ObjectReference{Kind: "Machine", Name: "demo-a", UID: "u"}, Reporter: "kqueen",
	}
	got := eventOf(&from, "org-blue")
	if got.Regarding.Kind != "Machine" || got.Regarding.APIVersion != v1alpha1.GroupVersion.String() || got.Series.Count != 4 || !got.Series.LastObservedTime.Time.Equal(last) {
		t.Errorf("got %+v", got)
	}
	again := from
	again.Count, again.LastSeenAt = 5, last.Add(time.Minute)
	if e := eventOf(&again, "org-blue"); e.UID != got.UID || e.ResourceVersion == got.ResourceVersion {
		t.Error("the same event, seen once more, has to keep its UID and to have another revision")
	}
	foreign := from
	foreign.Object.Kind = "Pod"
	if e := eventOf(&foreign, "org-blue"); e.UID == got.UID || e.Regarding.APIVersion != "" {
		t.Errorf("an event of a Pod is %+v", e.Regarding)
	}
}

func TestSets(t *testing.T) {
	own, shared := rest.Object{Name: "hosted", Organization: "blue"}, rest.Object{Name: "hosted"}
	tests := map[string]struct {
		set         Set
		own, shared bool
	}{
		"Own":        {Set{Organization: "blue"}, true, false},
		"Shared":     {Set{Organization: "blue", Shared: true}, false, true},
		"Everywhere": {Set{}, true, true},
		"Named":      {Set{Name: "hosted"}, true, true},
		"Others":     {Set{Name: "host"}, false, false},
	}
	for name, tc := range tests {
		if tc.set.wants(&own) != tc.own || tc.set.wants(&shared) != tc.shared {
			t.Errorf("%s: own %t, shared %t", name, tc.set.wants(&own), tc.set.wants(&shared))
		}
	}
}

func TestPlacesOfWrites(t *testing.T) {
	c := New(nil, newScheme(t), "blue")
	tests := map[string]struct {
		object client.Object
		want   kqueen.Collection
	}{
		"New":          {&v1alpha1.Cluster{}, kqueen.Collection{Kind: "Cluster", Organization: "blue"}},
		"Other":        {&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org-green"}}, kqueen.Collection{Kind: "Cluster", Organization: "green"}},
		"Shared":       {&v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: "kqueen-system"}}, kqueen.Collection{Kind: "Provisioner", Organization: "blue"}},
		"Organization": {&v1alpha1.Organization{}, kqueen.Collection{Kind: "Organization"}},
	}
	for name, tc := range tests {
		if got := c.of(tc.object); got != tc.want {
			t.Errorf("%s: in %+v, want %+v", name, got, tc.want)
		}
	}
}
