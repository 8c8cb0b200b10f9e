package server

import (
	"net/http"
	"strings"
	"testing"
)

// TestReplace: PUT puts what is said in the place of what was said, of the revision that its caller means.
func TestReplace(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	const at = "/api/v1/organizations/blue/clusters/thing"
	first := h.do(t.Context(), t, "operator", "PUT", at, `{"labels":{"a":"1","b":"2"},"annotations":{"note":"x"},"spec":{"version":"v1.36.3","network":{"extraSANs":["a.example"]}}}`, "If-Match", "*")
	if o := first.object(t); first.status != http.StatusOK || o.Labels["b"] != "2" || o.Annotations["note"] != "x" || !strings.Contains(string(o.Spec), "a.example") {
		t.Fatalf("%d %s", first.status, first.body)
	}
	etag := first.header.Get("ETag")
	const less = `{"labels":{"a":"3"},"spec":{"version":"v1.36.3"}}`
	for what, tc := range map[string]struct {
		headers []string
		body    string
		want    int
	}{
		"no revision":      {nil, less, http.StatusPreconditionRequired},
		"another revision": {[]string{"If-Match", `"1"`}, less, http.StatusPreconditionFailed},
		"no spec":          {[]string{"If-Match", etag}, `{"labels":{}}`, http.StatusUnprocessableEntity},
		"a merge patch":    {[]string{"If-Match", etag, "Content-Type", "application/merge-patch+json"}, less + "x", http.StatusBadRequest},
		"no JSON":          {[]string{"If-Match", etag}, "x", http.StatusBadRequest},
		"what is fixed":    {[]string{"If-Match", etag}, `{"spec":{"version":"v1.36.3","network":{"podCIDR":"10.9.0.0/16"}}}`, http.StatusUnprocessableEntity},
	} {
		if a := h.do(t.Context(), t, "operator", "PUT", at, tc.body, tc.headers...); a.status != tc.want {
			t.Errorf("%s: %d, want %d: %s", what, a.status, tc.want, a.body)
		}
	}
	if a := h.do(t.Context(), t, "operator", "PUT", at+"?dryRun=true", less, "If-Match", etag); a.status != http.StatusOK || a.object(t).Labels["a"] != "3" {
		t.Errorf("a try: %d %s", a.status, a.body)
	}
	a := h.do(t.Context(), t, "operator", "PUT", at, less, "If-Match", etag)
	if o := a.object(t); a.status != http.StatusOK || len(o.Labels) != 1 || len(o.Annotations) != 0 || strings.Contains(string(o.Spec), "a.example") || !strings.Contains(string(o.Spec), "podCIDR") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "operator", "PUT", at, less, "If-Match", etag); a.status != http.StatusPreconditionFailed {
		t.Errorf("the old revision once more: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "operator", "PUT", "/api/v1/organizations/blue/clusters/new", less, "If-Match", "*"); a.status != http.StatusNotFound {
		t.Errorf("what is not there: %d %s", a.status, a.body)
	}
}

// TestReplaceAttacks: what only the server says, and what only administrators say, is not taken here either.
func TestReplaceAttacks(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	const at = "/api/v1/organizations/blue/clusters/thing"
	for _, field := range []string{
		`"name":"other"`, `"organization":"red"`, `"uid":"1"`, `"status":{"version":"v1.36.3"}`, `"createdAt":"2020-01-01T00:00:00Z"`, `"revision":"1"`,
		`"generation":7`, `"kind":"Organization"`, `"metadata":{"namespace":"org-red"}`, `"ownerReferences":[]`, `"finalizers":["x"]`,
	} {
		name, _, _ := strings.Cut(field, ":")
		a := h.do(t.Context(), t, "owner", "PUT", at, `{"spec":{"version":"v1.36.3"},`+field+`}`, "If-Match", "*")
		if p := a.problem(t); a.status != http.StatusUnprocessableEntity || len(p.Errors) != 1 || p.Errors[0].Pointer != "/"+strings.Trim(name, `"`) {
			t.Errorf("with %s: %d %s", field, a.status, a.body)
		}
	}
	const member = `{"user":"owner","role":"owner"}`
	for _, tc := range []struct {
		who, path, body string
		want            int
	}{
		{"red", at, `{"spec":{"version":"v1.36.3"}}`, http.StatusNotFound},
		{"developer", at, `{"spec":{"version":"v1.36.3"}}`, http.StatusForbidden},
		{"owner", "/api/v1/organizations/blue/provisioners/hosted", `{"spec":{"driver":"hosted"}}`, http.StatusForbidden},
		{"operator", "/api/v1/organizations/blue", `{"spec":{"members":[{"user":"operator","role":"owner"}]}}`, http.StatusForbidden},
		{"red", "/api/v1/organizations/blue", `{"spec":{"members":[{"user":"red","role":"owner"}]}}`, http.StatusNotFound},
		{"owner", "/api/v1/organizations/blue", `{"spec":{}}`, http.StatusForbidden}, // the last owner
		{"owner", "/api/v1/organizations/blue", `{"spec":{"quota":{"clusters":99},"members":[` + member + `]}}`, http.StatusForbidden},
		{"owner", "/api/v1/organizations/red", `{"spec":{"members":[` + member + `]}}`, http.StatusNotFound},
	} {
		if a := h.do(t.Context(), t, tc.who, "PUT", tc.path, tc.body, "If-Match", "*"); a.status != tc.want {
			t.Errorf("%s puts %s to %s: %d, want %d: %s", tc.who, tc.body, tc.path, a.status, tc.want, a.body)
		}
	}
}
