package prepare

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/workers/addons"
)

// TestGatewayAPIInACluster: the kinds come, are repaired and renewed, stay when they are switched off, and those of a user or of a
// later version are left alone.
func TestGatewayAPIInACluster(t *testing.T) {
	p := newPlane(t)
	enabled := true
	look := func(what, state, message string) {
		t.Helper()
		all := p.set(v1alpha1.AddonSetting{Name: addons.NameGatewayAPI, Enabled: &enabled})
		got := all[len(all)-1]
		if got.Name != addons.NameGatewayAPI || got.State != state || !strings.Contains(got.Message, message) {
			t.Errorf("%s: got %v, want %s with %q", what, got, state, message)
		}
	}
	route := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "httproutes.gateway.networking.k8s.io"}}
	route.SetGroupVersionKind(addons.GatewayAPIKinds()[0].GetObjectKind().GroupVersionKind())
	version := func() string {
		t.Helper()
		if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(route), route); err != nil {
			t.Fatal(err)
		}
		return route.Annotations[addons.AnnotationBundleVersion]
	}
	patch := func(text string) {
		t.Helper()
		p.done = map[types.UID]prepared{} // as after a while
		if err := p.client.Patch(t.Context(), route, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	look("at first", v1alpha1.AddonReady, "")
	if v := version(); v != addons.GatewayAPIVersion {
		t.Errorf("the kind is of version %q", v)
	}
	patch(`{"metadata":{"annotations":{"gateway.networking.k8s.io/bundle-version":"v1.0.0"}}}`)
	look("an earlier version", v1alpha1.AddonReady, "")
	if v := version(); v != addons.GatewayAPIVersion {
		t.Errorf("an earlier version is still %q", v)
	}
	patch(`{"metadata":{"annotations":{"gateway.networking.k8s.io/bundle-version":"v9.0.0"}}}`)
	look("a later version", v1alpha1.AddonUserOwned, "is of the later version v9.0.0")
	patch(`{"metadata":{"annotations":{"gateway.networking.k8s.io/bundle-version":"v1.0.0"},"labels":{"app.kubernetes.io/managed-by":"alice"}}}`)
	look("a user's", v1alpha1.AddonUserOwned, "is managed by alice")
	if v := version(); v != "v1.0.0" {
		t.Errorf("the user's was made %q", v)
	}
	p.set()
	if v := version(); v != "v1.0.0" {
		t.Errorf("switched off, it is %q", v)
	}
}

func TestLater(t *testing.T) {
	for a, want := range map[string]bool{"v1.6.2": true, "v2.0.0-rc.1": true, "v1.6.1": false, "v1.6.1-rc.1": false, "v1.5.9": false, "": false, "none": false} {
		if got := later(a, "v1.6.1"); got != want {
			t.Errorf("%q is later than v1.6.1: got %t", a, got)
		}
	}
	if later("v1.6.1", "none") {
		t.Error("what is no version is earlier")
	}
}
