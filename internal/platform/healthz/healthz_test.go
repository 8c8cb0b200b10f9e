package healthz

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// serve serves until the test ends, and returns the URL.
func serve(t *testing.T, alive func(context.Context)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, alive, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// get returns the status of an answer, or an error when none comes in time.
func get(t *testing.T, url string, within time.Duration) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// TestServe: it answers that one question, and ends with its context.
func TestServe(t *testing.T) {
	url := serve(t, nil)
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/debug/pprof/": http.StatusNotFound} {
		if got, err := get(t, url+path, time.Minute); err != nil || got != want {
			t.Errorf("%s: %d, %v", path, got, err)
		}
	}
}

// TestHangs: a process that hangs gives no answer at all, is looked at once however often it is asked, and answers when it
// goes on.
func TestHangs(t *testing.T) {
	var lock, counting sync.Mutex
	looks := 0
	url := serve(t, func(context.Context) {
		counting.Lock()
		looks++
		counting.Unlock()
		lock.Lock()
		defer lock.Unlock()
	}) + "/healthz"
	lock.Lock()
	for range 3 {
		if got, err := get(t, url, 50*time.Millisecond); err == nil {
			t.Errorf("it hangs, and answers %d", got)
		}
	}
	counting.Lock()
	if looks != 1 {
		t.Errorf("it was looked at %d times while it hung, want once", looks)
	}
	counting.Unlock()
	lock.Unlock()
	if got, err := get(t, url, time.Minute); err != nil || got != http.StatusOK {
		t.Errorf("it goes on: %d, %v", got, err)
	}
}
