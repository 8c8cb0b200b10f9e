package addons

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
)

// TestGatewayAPI: the files are those that are named, all of one version, which is the one that Traefik is built with.
func TestGatewayAPI(t *testing.T) {
	objects, err := GatewayAPI()
	if err != nil {
		t.Fatal(err)
	}
	var have, want []string
	for _, o := range objects {
		have = append(have, o.GetName())
		if v := o.GetAnnotations()[AnnotationBundleVersion]; v != GatewayAPIVersion {
			t.Errorf("%s is of version %q, not %s", o.GetName(), v, GatewayAPIVersion)
		}
		if o.GetLabels()[LabelManagedBy] != ManagedByKQueen || o.GetLabels()[v1alpha1.LabelAddon] != NameGatewayAPI {
			t.Errorf("%s has the labels %v", o.GetName(), o.GetLabels())
		}
	}
	for _, o := range GatewayAPIKinds() {
		want = append(want, o.GetName())
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("kinds: -named, +files:\n%s", diff)
	}
	mod, err := release.ReadGoMod(t.Context(), "../../../node/traefik/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mod.Require {
		if m.Path == "sigs.k8s.io/gateway-api" && m.Version == GatewayAPIVersion {
			return
		}
	}
	t.Errorf("node/traefik does not require version %s; run: go generate ./internal/workers/addons, and change GatewayAPIVersion", GatewayAPIVersion)
}
