package server

import (
	"net/http"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/reference"
)

// TestServedReference: the page has every operation and schema of the document, leads nowhere else, and needs no
// session.
func TestServedReference(t *testing.T) {
	h := newFixture(t)
	a := h.do(t.Context(), t, "", "GET", reference.Path, "")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %v", a.status, a.header)
	}
	page := string(a.body)
	policy := a.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "//") {
		t.Errorf("the policy is %q", policy)
	}
	for path, item := range h.api.OpenAPI().Paths {
		for _, o := range chain.OperationsOf(item) {
			if !strings.Contains(page, `<section id="`+o.OperationID+`">`) || !strings.Contains(page, "<code>"+path+"</code>") {
				t.Errorf("%s %s (%s) is not in the page", o.Method, path, o.OperationID)
			}
		}
	}
	style := string(h.do(t.Context(), t, "", "GET", "/docs/style.css", "").body)
	served := map[string]bool{}
	for _, attribute := range []string{` href="`, ` src="`, ` action="`, `url(`, `@import`} {
		for _, part := range strings.Split(page+style, attribute)[1:] {
			target, _, _ := strings.Cut(part, `"`)
			name, here := strings.CutPrefix(target, "#")
			switch {
			case here && !strings.Contains(page, ` id="`+name+`"`):
				t.Errorf("%s leads to nothing", target)
			case !here && (!strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//")):
				t.Errorf("the page takes %q from elsewhere", target)
			case !here:
				served[target] = true
			}
		}
	}
	for _, bad := range []string{"<script", "<iframe", "<img", "style=\"", "onclick"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if !served["/docs/style.css"] || !served["/openapi.json"] {
		t.Errorf("the page names %v", served)
	}
	for target := range served {
		if a := h.do(t.Context(), t, "", "GET", target, ""); a.status != http.StatusOK {
			t.Errorf("%s: %d", target, a.status)
		}
	}
	if a := h.do(t.Context(), t, "", "POST", reference.Path, "x"); a.status < http.StatusBadRequest {
		t.Errorf("POST: %d", a.status)
	}
}
