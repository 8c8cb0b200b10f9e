package objects

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestEventsOutliveTimeouts(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprint("http2=", http2), func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				out := newSSE(w)
				out.begin()
				select {
				case <-r.Context().Done():
				case <-time.After(time.Second):
					_ = out.comment("alive")
				}
			}))
			server.Config.ReadTimeout, server.Config.WriteTimeout, server.EnableHTTP2 = 200*time.Millisecond, 200*time.Millisecond, http2
			server.StartTLS()
			defer server.Close()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != ": alive\n\n" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
