package controlplane

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestIssuerThatNoAPIServerTakes is refused before it is written: upstream does not start with it.
func TestIssuerThatNoAPIServerTakes(t *testing.T) {
	tests := map[string]struct {
		alter func(*TokenIssuer)
		want  string
	}{
		"Good":        {func(*TokenIssuer) {}, ""},
		"URL":         {func(i *TokenIssuer) { i.URL = "http://issuer.kqueen.test" }, "url:"},
		"Discovery":   {func(i *TokenIssuer) { i.DiscoveryURL = "" }, "discoveryURL:"},
		"CA":          {func(i *TokenIssuer) { i.CA = []byte("x") }, "ca:"},
		"NoAudience":  {func(i *TokenIssuer) { i.Audience = "" }, "audience:"},
		"Ended":       {func(i *TokenIssuer) { i.Ended = []string{"a", "b']) || (''==''"} }, "ended:"},
		"TwoAudience": {func(i *TokenIssuer) { i.Audience = "a' || '' == '" }, "audience:"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := description(t)
			tc.alter(d.Issuer)
			_, err := Describe(d)
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error that names %q, got %v", tc.want, err)
			}
		})
	}
}

// TestIssuerRestartsNoAPIServer: API servers read again whom they trust; a restart would cut every watch.
func TestIssuerRestartsNoAPIServer(t *testing.T) {
	with := description(t)
	without := with
	without.Issuer = nil
	first, err := Describe(with)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Describe(without)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range first.Components {
		if slices.Contains(c.RestartOn, fileAuthentication) {
			t.Errorf("%s is restarted when %s changes", c.Name, fileAuthentication)
		}
		if other := second.Components[i]; !slices.Equal(c.Args, other.Args) || !slices.Equal(c.RestartOn, other.RestartOn) {
			t.Errorf("%s is run otherwise with an issuer", c.Name)
		}
	}
}

// TestClusterOfControlPlane: a control plane is of the Cluster that it was made for, and of itself where it was made for none.
func TestClusterOfControlPlane(t *testing.T) {
	cp := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "org-acme", Name: "copy", UID: "own"}}
	if got, name := Audience(cp), clusterNameOf(cp); got != "kqueen.io/cluster/own" || name != "acme/copy" {
		t.Errorf("without a Cluster: got %s of %s", got, name)
	}
	owner := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "of-the-cluster"}}
	cp.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("Cluster"))}
	if got, name := Audience(cp), clusterNameOf(cp); got != "kqueen.io/cluster/of-the-cluster" || name != "acme/demo" {
		t.Errorf("of a Cluster: got %s of %s", got, name)
	}
}
