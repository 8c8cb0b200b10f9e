package server

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/workers/addons"
)

// someAddons are those of an installation that has the image of CoreDNS alone.
type someAddons struct{ cached client.Reader }

func (someAddons) Offer() addons.Images {
	return addons.Images{CoreDNS: "registry.example.com:5000/coredns:v1.15.0"}
}

func (s someAddons) Settled(ctx context.Context, c *v1alpha1.Cluster) ([]addons.Settled, error) {
	p := &v1alpha1.Provisioner{}
	if err := s.cached.Get(ctx, client.ObjectKey{Namespace: c.Spec.ProvisionerRef.Namespace, Name: c.Spec.ProvisionerRef.Name}, p); err != nil {
		return nil, err
	}
	return addons.Settle(c.Spec.CNI, p.Spec.Addons, nil, c.Spec.Addons), nil
}

// TestAddons: the catalogue says what this installation has, with the schemas as they are.
func TestAddons(t *testing.T) {
	h := newFixture(t)
	var page rest.Page[rest.Addon]
	a := h.do(t.Context(), t, "nobody", "GET", "/api/v1/addons", "")
	if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	known := addons.Catalogue()
	if len(page.Items) != len(known) {
		t.Fatalf("there are %d addons, want %d", len(page.Items), len(known))
	}
	for i, got := range page.Items {
		want := rest.Addon{Name: known[i].Name, Summary: known[i].Summary, Default: known[i].Default, CNI: known[i].CNI, Kubernetes: known[i].Kubernetes}
		for _, use := range known[i].Uses {
			want.Uses = append(want.Uses, rest.AddonUse(use))
		}
		switch got.Name {
		case "coredns": // of its image
			want.Version = "v1.15.0"
		case addons.NameGatewayAPI:
			want.Version = addons.GatewayAPIVersion
		}
		var schema, described any
		if err := json.Unmarshal(got.ValuesSchema, &schema); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(known[i].Schema, &described); err != nil {
			t.Fatal(err)
		}
		got.ValuesSchema = nil
		if diff := cmp.Diff(want, got) + cmp.Diff(described, schema); diff != "" {
			t.Errorf("%s (-want +got):\n%s", got.Name, diff)
		}
	}
}

// TestClusterAddons: of each addon it is said who sets it and how it is.
func TestClusterAddons(t *testing.T) {
	h := newFixture(t)
	off := []v1alpha1.AddonSetting{{Name: "metrics-server", Enabled: new(bool)}}
	p := &v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: "org-blue", Name: "own"}, Spec: v1alpha1.ProvisionerSpec{Driver: "hosted", Addons: off}}
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org-blue", Name: "demo"}, Spec: v1alpha1.ClusterSpec{
		Version: "v1.36.3", ProvisionerRef: v1alpha1.ProvisionerReference{Namespace: "org-blue", Name: "own"}, Addons: []v1alpha1.AddonSetting{{Name: "kube-proxy", Enabled: new(bool)}},
	}}
	for _, o := range []client.Object{p, c} {
		if err := h.plane.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	c.Status.Addons = []v1alpha1.AddonStatus{{Name: "coredns", Version: "v1.14.2", State: v1alpha1.AddonProgressing, Message: "one of two"}}
	if err := h.plane.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	h.await(t, func() bool { return h.cached.Get(t.Context(), client.ObjectKeyFromObject(p), p) == nil })
	const at = "/api/v1/organizations/blue/clusters/"
	var page rest.Page[rest.ClusterAddon]
	a := h.do(t.Context(), t, "viewer", "GET", at+"demo/addons", "")
	if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	got := map[string]rest.ClusterAddon{}
	for _, one := range page.Items {
		if one.From != "catalogue" || one.Version != "" { // the others are as the catalogue says
			got[one.Name] = one
		}
	}
	want := map[string]rest.ClusterAddon{
		"flannel":    {Name: "flannel", From: "cni", Values: map[string]any{}},
		"kube-proxy": {Name: "kube-proxy", From: "cluster", Values: map[string]any{}},
		"coredns": {
			Name: "coredns", Enabled: true, From: "catalogue", Values: map[string]any{"replicas": 2.0},
			Version: "v1.14.2", State: v1alpha1.AddonProgressing, Message: "one of two",
		},
		"metrics-server": {Name: "metrics-server", From: "provisioner", Values: map[string]any{"resolutionSeconds": 15.0}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for name, status := range map[string]int{"none": http.StatusNotFound, "a%2Fb": http.StatusNotFound} {
		if a := h.do(t.Context(), t, "viewer", "GET", at+name+"/addons", ""); a.status != status {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}
