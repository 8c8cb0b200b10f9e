package join

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestCaller: what an API server answers is told in its own words, and bounded.
func TestCaller(t *testing.T) {
	for name, c := range map[string]struct {
		code       int
		body, want string
	}{
		"an object":        {http.StatusOK, `{"metadata": {"name": "a"}}`, ""},
		"half an object":   {http.StatusOK, `{"metadata": {"na`, "unexpected end of JSON input"},
		"an endless one":   {http.StatusOK, `{"metadata": {"name": "` + strings.Repeat("a", callBytes) + `"}}`, "unexpected end of JSON input"},
		"a refusal":        {http.StatusForbidden, `{"kind": "Status", "message": "no"}`, "the API server answers 403: no"},
		"a proxy's page":   {http.StatusBadGateway, "<html>", "the API server answers 502: Bad Gateway"},
		"a silent refusal": {http.StatusUnauthorized, `{}`, "the API server answers 401: Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			caller, err := newCaller(server.Listener.Addr().String(), nil, "")
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			if err := caller.get(t.Context(), pathInfo, &corev1.ConfigMap{}); err != nil {
				said = err.Error()
			}
			if said != c.want {
				t.Errorf("got %q, want %q", said, c.want)
			}
		})
	}
	if _, err := newCaller("a:1", []byte("no PEM"), ""); err == nil || !strings.Contains(err.Error(), "certificate authority of the cluster cannot be read") {
		t.Errorf("an authority that cannot be read: %v; without one every server would be trusted", err)
	}
}

// TestCallerFollowsNoRedirect: the token goes to the server that was checked, and nowhere else.
func TestCallerFollowsNoRedirect(t *testing.T) {
	var elsewhere []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	server := httptest.NewTLSServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c, err := newCaller(server.Listener.Addr().String(), ca, goodToken)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.get(t.Context(), pathInfo, &corev1.ConfigMap{}); !hasCode(err, http.StatusFound) {
		t.Errorf("got %v, want the redirect as a refusal", err)
	}
	if elsewhere != nil {
		t.Errorf("another server was asked with %q", elsewhere)
	}
}
