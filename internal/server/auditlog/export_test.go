package auditlog

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestPatience: an export may take longer than a request may.
func TestPatience(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 500*time.Millisecond)
		defer cancel()
		out := &patient{w, http.NewResponseController(w)}
		_, _ = out.Write([]byte("first\n"))
		_ = out.control.Flush()
		<-ctx.Done()
		_, _ = out.Write([]byte("last\n"))
	}))
	server.Config.WriteTimeout = 100 * time.Millisecond
	server.Start()
	defer server.Close()
	resp, err := server.Client().Get(server.URL) //nolint:noctx // the test's server
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "first\nlast\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
