package conversion

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kqueen.io/kqueen/api/crds"
)

func object(t *testing.T, kind, fields string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	text := `{"apiVersion":"kqueen.io/v1alpha1","kind":"` + kind + `","metadata":{"namespace":"org-blue","name":"demo"},` + fields + `}`
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

// TestConvert converts each, and once more what came of it, which stays as it is.
func TestConvert(t *testing.T) {
	tests := map[string]struct {
		kind, stored, want string // an empty want is what is stored
	}{
		"Cluster":            {"Cluster", `"spec":{"version":"v1.36.3","cni":"flannel","auditLog":"full"}`, `"spec":{"version":"v1.36.3","cni":"Flannel","auditLog":"RequestResponse"}`},
		"Cluster, defaults":  {"Cluster", `"spec":{"version":"v1.36.3","cni":"routes","auditLog":"metadata"}`, `"spec":{"version":"v1.36.3","cni":"Routes","auditLog":"Metadata"}`},
		"Cluster, none":      {"Cluster", `"spec":{"cni":"none","auditLog":"none"}`, `"spec":{"cni":"None","auditLog":"None"}`},
		"Cluster, said less": {"Cluster", `"spec":{"version":"v1.36.3"}`, ``},
		"Cluster, new":       {"Cluster", `"spec":{"cni":"Routes","auditLog":"RequestResponse"}`, ``},
		"Cluster, status":    {"Cluster", `"spec":{},"status":{"nextTry":"2026-01-02T03:04:05Z","version":"v1"}`, `"spec":{},"status":{"nextRetryTime":"2026-01-02T03:04:05Z","version":"v1"}`},
		"ControlPlane": {
			"ControlPlane", `"spec":{"dataStore":"mine","auditLog":"none"},"status":{"storeBytes":65536,"renewAt":"2026-01-02T03:04:05Z"}`,
			`"spec":{"dataStoreName":"mine","auditLog":"None"},"status":{"storeUsed":"64Ki","renewalTime":"2026-01-02T03:04:05Z"}`,
		},
		"bytes that are no KiB": {"ControlPlane", `"status":{"storeBytes":65537}`, `"status":{"storeUsed":"65537"}`},
		"Machine": {
			"Machine", `"spec":{"drain":{"timeout":"1h30m0s"}},"status":{"lifeBegan":"a","joinedAt":"b","drainBegan":"c"}`,
			`"spec":{"drain":{"timeoutSeconds":5400}},"status":{"lifeTransitionTime":"a","joinTime":"b","drainStartTime":"c"}`,
		},
		"NodePool": {
			"NodePool", `"spec":{"template":{"drain":{"timeout":"10m"}},"health":{"unreadyTimeout":"5m","startupTimeout":"15m0s","maxUnhealthy":"40%"}}`,
			`"spec":{"template":{"drain":{"timeoutSeconds":600}},"health":{"unreadyTimeoutSeconds":300,"startupTimeoutSeconds":900,"maxUnhealthy":"40%"}}`,
		},
		"no end":                {"Machine", `"spec":{"drain":{"timeout":"0"}}`, `"spec":{"drain":{"timeoutSeconds":0}}`},
		"no end, in seconds":    {"Machine", `"spec":{"drain":{"timeout":"0s"}}`, `"spec":{"drain":{"timeoutSeconds":0}}`},
		"part of a second":      {"Machine", `"spec":{"drain":{"timeout":"1.5s"}}`, `"spec":{"drain":{"timeoutSeconds":2}}`},
		"less than a second":    {"Machine", `"spec":{"drain":{"timeout":"1ms"}}`, `"spec":{"drain":{"timeoutSeconds":1}}`},
		"longest":               {"Machine", `"spec":{"drain":{"timeout":"99999h99999h99999h99999h"}}`, `"spec":{"drain":{"timeoutSeconds":1439985600}}`},
		"Organization":          {"Organization", `"spec":{"provisioners":["a","b"],"dataStores":["c"]}`, `"spec":{"provisionerNames":["a","b"],"dataStoreNames":["c"]}`},
		"both names":            {"Organization", `"spec":{"provisioners":["a"],"provisionerNames":["b"]}`, `"spec":{"provisionerNames":["b"]}`},
		"hosted":                {"Provisioner", `"spec":{"driver":"hosted","parameters":{"dataStore":"mine","size":"small"}}`, `"spec":{"driver":"hosted","parameters":{"dataStoreName":"mine","size":"small"}}`},
		"driver of others":      {"Provisioner", `"spec":{"driver":"cloud","parameters":{"dataStore":"theirs"}}`, ``},
		"no parameters":         {"Provisioner", `"spec":{"driver":"hosted"}`, ``},
		"parent is no object":   {"Machine", `"spec":{"drain":"soon"}`, ``},
		"kind that is not ours": {"Gadget", `"spec":{"dataStore":"a"}`, ``},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			stored := object(t, tc.kind, tc.stored)
			before, want := stored.DeepCopy(), stored.DeepCopy()
			if tc.want != "" {
				want = object(t, tc.kind, tc.want)
			}
			got, changed, err := Convert(stored)
			if err != nil || changed != (tc.want != "") {
				t.Fatalf("changed is %t, and it failed: %v", changed, err)
			}
			if diff := cmp.Diff(encode(t, want), encode(t, got)); diff != "" {
				t.Errorf("converted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, stored); diff != "" {
				t.Errorf("the argument was changed (-before +after):\n%s", diff)
			}
			again, changed, err := Convert(got)
			if diff := cmp.Diff(got, again); changed || err != nil || diff != "" {
				t.Errorf("a second time: changed is %t, error %v (-first +second):\n%s", changed, err, diff)
			}
		})
	}
}

// TestCannotBeConverted: the message names object, field, problem and remedy, for each field that is wrong.
func TestCannotBeConverted(t *testing.T) {
	tests := map[string]struct {
		kind, stored string
		want         []string
	}{
		"no duration":  {"NodePool", `"spec":{"health":{"unreadyTimeout":"soon"}}`, []string{`NodePool org-blue/demo: spec.health.unreadyTimeout: "soon" is not a duration such as 5m; correct it on the admin plane (kubectl edit nodepool.kqueen.io demo --namespace org-blue) and start KQueen again`}},
		"negative":     {"Machine", `"spec":{"drain":{"timeout":"-2s"}}`, []string{"spec.drain.timeout: -2s is not between 0 and"}},
		"too long":     {"Machine", `"spec":{"drain":{"timeout":"2000000h"}}`, []string{"spec.drain.timeout: 2000000h is not between 0 and"}},
		"a number":     {"Machine", `"spec":{"drain":{"timeout":5}}`, []string{"spec.drain.timeout: 5 is not a duration"}},
		"no such CNI":  {"Cluster", `"spec":{"cni":"calico"}`, []string{"spec.cni: calico is not one of Routes, Flannel, None"}},
		"no level":     {"Cluster", `"spec":{"auditLog":3}`, []string{"spec.auditLog: 3 is not one of None, Metadata, RequestResponse"}},
		"no bytes":     {"ControlPlane", `"status":{"storeBytes":"many"}`, []string{"status.storeBytes: many is not a number of bytes"}},
		"two of them":  {"Cluster", `"spec":{"cni":"a","auditLog":"b"}`, []string{"spec.cni: a is not", "spec.auditLog: b is not"}},
		"one of three": {"NodePool", `"spec":{"template":{"drain":{"timeout":"1m"}},"health":{"unreadyTimeout":"x","startupTimeout":"1m"}}`, []string{"spec.health.unreadyTimeout"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, changed, err := Convert(object(t, tc.kind, tc.stored))
			if err == nil || got != nil || changed {
				t.Fatalf("want an error alone, got %v, %t, %v", got, changed, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want it to say %q, got: %v", want, err)
				}
			}
		})
	}
}

// TestStepsAreOfKinds: a step for what is no kind would never be taken.
func TestStepsAreOfKinds(t *testing.T) {
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	of := steps()
	for _, crd := range definitions {
		delete(of, crd.Spec.Names.Kind)
	}
	for kind := range of {
		t.Errorf("%s is converted and is no kind", kind)
	}
}

func encode(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.MarshalIndent(o.Object, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
