package healthz

import (
	"context"
	"net"
	"net/http"
	"testing"
)

// TestServe: it answers that one question, and ends with its context.
func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, nil) }()
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/debug/pprof/": http.StatusNotFound} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
