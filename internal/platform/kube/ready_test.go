package kube_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/internal/platform/kube"
)

// TestWhenReady: what an API server says before it is ready reaches no one, after each of its starts; that it is away is
// the same to a caller.
func TestWhenReady(t *testing.T) {
	var ready atomic.Bool
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case ready.Load():
			_, _ = io.WriteString(w, r.URL.Path)
		case r.URL.Path == "/readyz":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	config, err := kube.WhenReady(&rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	call := func() (string, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		said, err := io.ReadAll(resp.Body)
		return resp.Status + " " + string(said), err
	}
	for start := range 2 {
		ready.Store(false)
		s.CloseClientConnections()
		for last := range 2 { // the first one may find out that the connection has ended
			if said, err := call(); err == nil || last > 0 && !apierrors.IsServiceUnavailable(err) {
				t.Errorf("start %d: before it is ready: %q, %v, want that it is unavailable", start, said, err)
			}
		}
		ready.Store(true)
		if said, err := call(); err != nil || said != "200 OK /api" {
			t.Errorf("start %d: when it is ready: %q, %v", start, said, err)
		}
	}
	s.Close()
	for last := range 2 {
		if said, err := call(); err == nil || last > 0 && !apierrors.IsServiceUnavailable(err) {
			t.Errorf("when it is away: %q, %v, want that it is unavailable", said, err)
		}
	}
}
