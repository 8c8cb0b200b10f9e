package server

import (
	"net/http"
	"strings"
	"testing"

	"kqueen.io/kqueen/api/rest"
)

// TestApply: server-side apply creates what is not there, leaves what it does not name, takes away what its manager does not say
// any more, and refuses what another manager has set, unless it is forced.
func TestApply(t *testing.T) {
	h := newFixture(t)
	const at = "/api/v1/organizations/blue/clusters/applied"
	apply := func(who, query, body string) answer {
		t.Helper()
		return h.do(t.Context(), t, who, "PATCH", at+query, body, "Content-Type", rest.MediaApply)
	}
	if a := apply("operator", "?dryRun=true&fieldManager=one", `{"spec":{"version":"v1.36.3"}}`); a.status != http.StatusOK {
		t.Fatalf("a dry run: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "operator", "GET", at, ""); a.status != http.StatusNotFound {
		t.Fatalf("after a dry run: %d %s", a.status, a.body)
	}
	a := apply("operator", "?fieldManager=one", `{"labels":{"a":"1"},"spec":{"version":"v1.36.3","network":{"extraSANs":["a.example"]}}}`)
	if o := a.object(t); a.status != http.StatusOK || o.Labels["a"] != "1" || !strings.Contains(string(o.Spec), "a.example") {
		t.Fatalf("created: %d %s", a.status, a.body)
	}
	if a := apply("operator", "?fieldManager=two", `{"labels":{"b":"2"}}`); a.object(t).Labels["a"] != "1" || a.object(t).Labels["b"] != "2" {
		t.Errorf("another manager: %d %s", a.status, a.body)
	}
	a = apply("operator", "?fieldManager=two", `{"labels":{"a":"3","b":"2"}}`)
	if p := a.problem(t); a.status != http.StatusConflict || p.Code != rest.CodeFieldConflict || p.Retryable || len(p.Errors) != 1 || p.Errors[0].Pointer != "/labels/a" || !strings.Contains(p.Errors[0].Detail, `"one"`) {
		t.Errorf("what another manager has set: %d %s", a.status, a.body)
	}
	if a := apply("operator", "?fieldManager=two&force=true", `{"labels":{"a":"3","b":"2"}}`); a.status != http.StatusOK || a.object(t).Labels["a"] != "3" {
		t.Errorf("by force: %d %s", a.status, a.body)
	}
	a = apply("operator", "?fieldManager=one", `{"spec":{"version":"v1.36.3"}}`)
	if o := a.object(t); strings.Contains(string(o.Spec), "a.example") || o.Labels["b"] != "2" || !strings.Contains(string(o.Spec), "podCIDR") {
		t.Errorf("what is not said any more: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "operator", "PATCH", at+"?fieldManager=one", `{}`, "If-Match", "*", "Content-Type", "application/merge-patch+json"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a merge patch with a field manager: %d %s", a.status, a.body)
	}
}

// TestApplyAttacks: server-side apply gives no caller more than creating and changing do.
func TestApplyAttacks(t *testing.T) {
	h := newFixture(t)
	h.green(t)
	things(t, h)
	h.age(t)
	const blue, cluster = "/api/v1/organizations/blue", "/api/v1/organizations/blue/clusters/thing"
	for _, tc := range []struct {
		who, path, body string
		want            int
	}{
		{"red", cluster, `{"labels":{"a":"1"}}`, http.StatusNotFound},
		{"red", blue + "/clusters/new", `{"spec":{"version":"v1.36.3"}}`, http.StatusNotFound},
		{"viewer", cluster, `{"labels":{"a":"1"}}`, http.StatusForbidden},
		{"developer", blue + "/clusters/new", `{"spec":{"version":"v1.36.3"}}`, http.StatusForbidden},
		{"operator", blue + "/machines/new", `{"spec":{"clusterName":"thing","version":"v1.36.3","provider":"manual"}}`, http.StatusForbidden},
		{"operator", blue + "/provisioners/thing", `{"labels":{"a":"1"}}`, http.StatusForbidden},
		{"operator", cluster, `{"name":"other"}`, http.StatusUnprocessableEntity},
		{"operator", cluster, `{"status":{"version":"v1.36.3"}}`, http.StatusUnprocessableEntity},
		{"operator", cluster, `{"metadata":{"namespace":"org-red"}}`, http.StatusUnprocessableEntity},
		{"operator", cluster, `{"spec":{"network":{"podCidr":"10.0.0.0/16"}}}`, http.StatusUnprocessableEntity},
		{"operator", cluster, `{"spec":{"version":"v1.36.3","version":"v1.36.4"}}`, http.StatusBadRequest},
		{"operator", blue + "/nodepools/new", `{"spec":{"replicas":1}}`, http.StatusUnprocessableEntity}, // a new one needs its cluster
		{"owner", "/api/v1/organizations/new", `{"spec":{"displayName":"New"}}`, http.StatusNotFound},
		{"owner", blue, `{"spec":{"quota":{"clusters":99}}}`, http.StatusForbidden},
		{"viewer", "/api/v1/organizations/green", `{"spec":{"members":[{"user":"viewer","role":"owner"}]}}`, http.StatusForbidden},
		{"owner", "/api/v1/organizations/green", `{"spec":{"members":[{"user":"owner","role":"owner"},{"user":"eve","role":"viewer"}]}}`, http.StatusUnauthorized},
		{"owner", "/api/v1/organizations/green", `{"spec":{"members":[{"user":"owner","role":"owner"}]}}`, http.StatusOK},
		{"owner", "/api/v1/organizations/green", `{"spec":{"displayName":"Green"}}`, http.StatusForbidden}, // the last owner would go
	} {
		a := h.do(t.Context(), t, tc.who, "PATCH", tc.path+"?force=true", tc.body, "Content-Type", rest.MediaApply)
		if a.status != tc.want {
			t.Errorf("%s applies %s to %s: %d, want %d: %s", tc.who, tc.body, tc.path, a.status, tc.want, a.body)
		}
	}
}
