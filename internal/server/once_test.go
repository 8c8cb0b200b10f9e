package server

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

func TestDryRun(t *testing.T) {
	h := newFixture(t)
	const clusters = "/api/v1/organizations/blue/clusters"
	a := h.do(t.Context(), t, "operator", "POST", clusters+"?dryRun=true", `{"name":"dry","spec":{"version":"v1.36.3"}}`)
	if o := a.object(t); a.status != http.StatusCreated || !strings.Contains(string(o.Spec), "podCIDR") {
		t.Errorf("what would be made has no defaults: %d %s", a.status, a.body)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Cluster"))
	if err := h.plane.Get(t.Context(), client.ObjectKey{Namespace: "org-blue", Name: "dry"}, o); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a dry run made it: %v", err)
	}
	a = h.do(t.Context(), t, "operator", "POST", clusters, `{"name":"dry","spec":{"version":"latest","network":{"podCIDR":"10.0.0.1/16"}}}`)
	var pointers []string
	for _, e := range a.problem(t).Errors {
		pointers = append(pointers, e.Pointer)
	}
	if got := strings.Join(pointers, " "); a.status != http.StatusUnprocessableEntity || got != "/spec/version" {
		t.Errorf("bad input: %d %q %s", a.status, got, a.body)
	}
	a = h.do(t.Context(), t, "operator", "POST", clusters, `{"name":"dry","spec":{"version":"v1.36.3","network":{"podCIDR":"10.0.0.1/16"}}}`)
	if p := a.problem(t); len(p.Errors) != 1 || p.Errors[0].Pointer != "/spec/network/podCIDR" || !strings.Contains(p.Errors[0].Detail, "no host bits") {
		t.Errorf("what only the API server can say: %d %s", a.status, a.body)
	}
}

func TestOnce(t *testing.T) {
	h := newFixture(t)
	const accounts, key = "/api/v1/organizations/blue/serviceaccounts", "Idempotency-Key"
	first := h.do(t.Context(), t, "owner", "POST", accounts, `{"name":"ci","role":"viewer"}`, key, "k1")
	again := h.do(t.Context(), t, "owner", "POST", accounts, `{"name":"ci","role":"viewer"}`, key, "k1")
	if first.status != http.StatusCreated || again.status != first.status || !bytes.Equal(again.body, first.body) || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("first %d %s\nagain %d %s", first.status, first.body, again.status, again.body)
	}
	if a := h.do(t.Context(), t, "owner", "POST", accounts, `{"name":"other","role":"viewer"}`, key, "k1"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("the key with another body: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "admin", "POST", accounts, `{"name":"ci","role":"viewer"}`, key, "k1"); a.status != http.StatusConflict {
		t.Errorf("the key of another caller: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "owner", "POST", accounts, `{"name":"ci","role":"viewer"}`); a.status != http.StatusConflict {
		t.Errorf("without a key: %d %s", a.status, a.body)
	}
	// A refusal is an answer as well.
	for range 2 {
		if a := h.do(t.Context(), t, "viewer", "POST", accounts, `{"name":"ci2","role":"viewer"}`, key, "k2"); a.status != http.StatusForbidden {
			t.Errorf("a viewer: %d %s", a.status, a.body)
		}
	}
}
