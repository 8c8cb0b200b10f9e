package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
)

func newClient(t *testing.T, c Config) *Client {
	t.Helper()
	made, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

// answerer is a server that answers what a test says, one after the other, and a client of it that does not wait.
type answerer struct {
	*httptest.Server
	*Client

	seen    []*http.Request
	bodies  []string
	answers []http.HandlerFunc // the last one is repeated
	waits   []time.Duration
}

func answering(t *testing.T, config Config, answers ...http.HandlerFunc) *answerer {
	t.Helper()
	d := &answerer{answers: answers}
	ours := newAuthority(t, "kqueen")
	d.Server = serve(t, ours.chain(t, nil), func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d.seen, d.bodies = append(d.seen, r), append(d.bodies, string(body))
		d.answers[min(len(d.seen), len(d.answers))-1](w, r)
	})
	config.Connection = Connection{Server: d.URL, CA: ours.pem()}
	d.Client = newClient(t, config)
	d.wait = func(_ context.Context, after time.Duration) error { d.waits = append(d.waits, after); return nil }
	return d
}

func says(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if name, value, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hangsUp ends the connection without an answer.
func hangsUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestCallSendsWhatIsAsked(t *testing.T) {
	d := answering(t, Config{UserAgent: "kqueen/test", Token: func(context.Context) (string, error) { return "secret", nil }},
		says(http.StatusOK, "Content-Type: application/json", `{"name":"demo"}`))
	var out struct{ Name string }
	err := d.Call(t.Context(), Request{
		Method: http.MethodPost, Path: "/api/v1/clusters/" + url.PathEscape("a/b"), Query: url.Values{"limit": {"5"}}, Body: map[string]string{"a": "b"},
	}, &out)
	if err != nil || out.Name != "demo" {
		t.Fatalf("got %+v, %v", out, err)
	}
	r := d.seen[0]
	got := []string{r.Method, r.RequestURI, d.bodies[0], r.Header.Get("Authorization"), r.Header.Get("User-Agent"), r.Header.Get("Content-Type"), r.Header.Get("Accept"), r.Proto}
	want := []string{
		"POST", "/api/v1/clusters/a%2Fb?limit=5", `{"a":"b"}`, "Bearer secret", "kqueen/test", "application/json", "application/json, application/problem+json", "HTTP/2.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(r.Header.Get("X-Request-ID")) != 26 {
		t.Errorf("want an id of the request, got %q", r.Header.Get("X-Request-ID"))
	}
}

func TestWhatIsTriedAgain(t *testing.T) {
	ok := says(http.StatusOK, "", "{}")
	busy := says(http.StatusServiceUnavailable, "Retry-After: 3", "")
	many := says(http.StatusTooManyRequests, "Retry-After: 1", "")
	second := time.Second
	tests := map[string]struct {
		reason  string
		method  string
		answers []http.HandlerFunc
		calls   int
		waits   []time.Duration // of what the server said
		fails   bool
	}{
		"Good":            {"", "GET", []http.HandlerFunc{ok}, 1, nil, false},
		"Busy":            {"", "GET", []http.HandlerFunc{busy, many, ok}, 3, []time.Duration{3 * second, second}, false},
		"BusyForLong":     {"Four times are enough.", "GET", []http.HandlerFunc{busy}, 4, []time.Duration{3 * second, 3 * second, 3 * second}, true},
		"BusyPut":         {"", "PUT", []http.HandlerFunc{busy, ok}, 2, []time.Duration{3 * second}, false},
		"BusyDelete":      {"", "DELETE", []http.HandlerFunc{many, ok}, 2, []time.Duration{second}, false},
		"BusyPost":        {"It could be done twice.", "POST", []http.HandlerFunc{busy, ok}, 1, nil, true},
		"BusyPatch":       {"It could be done twice.", "PATCH", []http.HandlerFunc{many, ok}, 1, nil, true},
		"NoRetryAfter":    {"The server did not say that it helps.", "GET", []http.HandlerFunc{says(http.StatusServiceUnavailable, "", ""), ok}, 1, nil, true},
		"AnHour":          {"A user does not wait that long for a command.", "GET", []http.HandlerFunc{says(http.StatusServiceUnavailable, "Retry-After: 3600", ""), ok}, 1, nil, true},
		"ServerError":     {"", "GET", []http.HandlerFunc{says(http.StatusInternalServerError, "Retry-After: 1", ""), ok}, 1, nil, true},
		"NotFound":        {"", "GET", []http.HandlerFunc{says(http.StatusNotFound, "", ""), ok}, 1, nil, true},
		"PostHangsUp":     {"It may have been done.", "POST", []http.HandlerFunc{hangsUp, ok}, 1, nil, true},
		"RedirectNowhere": {"The token is not for others.", "GET", []http.HandlerFunc{says(http.StatusFound, "Location: https://192.0.2.1/", ""), ok}, 1, nil, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := answering(t, Config{}, tc.answers...)
			err := d.Call(t.Context(), Request{Method: tc.method, Path: "/"}, nil)
			if len(d.seen) != tc.calls || (err != nil) != tc.fails || !slices.Equal(d.waits, tc.waits) {
				t.Errorf("%s want %d calls and waits %v, got %d and %v: %v", tc.reason, tc.calls, tc.waits, len(d.seen), d.waits, err)
			}
		})
	}
}

// TestLostConnection: net/http itself repeats some calls on connections that it had kept, so the number is a bound.
func TestLostConnection(t *testing.T) {
	d := answering(t, Config{}, append(slices.Repeat([]http.HandlerFunc{hangsUp}, 2), says(http.StatusOK, "", "{}"))...)
	if err := d.Call(t.Context(), Request{Method: http.MethodGet, Path: "/"}, nil); err != nil || len(d.waits) == 0 {
		t.Errorf("want it to succeed in the end, got %v after %v", err, d.waits)
	}
	for _, wait := range d.waits {
		if wait < firstBackoff/2 || wait > 4*firstBackoff {
			t.Errorf("want short waits, got %v", d.waits)
		}
	}
	d.Server.Close()
	if err := d.Call(t.Context(), Request{Method: http.MethodGet, Path: "/"}, nil); err == nil || !strings.HasPrefix(err.Error(), "GET /: ") {
		t.Errorf("want an error that names the call, got %v", err)
	}
}

func TestBounds(t *testing.T) {
	d := answering(t, Config{MaxAnswer: 10}, says(http.StatusOK, "", strings.Repeat("x", 11)))
	if err := d.Call(t.Context(), Request{Method: http.MethodGet, Path: "/"}, nil); err == nil || !strings.Contains(err.Error(), "longer than 10 bytes") || len(d.seen) != 1 {
		t.Errorf("a long answer: want an error after one call, got %v after %d", err, len(d.seen))
	}
	release := make(chan struct{})
	slow := answering(t, Config{Timeout: 50 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	err := slow.Call(t.Context(), Request{Method: http.MethodPost, Path: "/"}, nil)
	close(release)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that does not answer: want a deadline, got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Call(ended, Request{Method: http.MethodGet, Path: "/"}, nil); !errors.Is(err, context.Canceled) || len(d.waits) != 0 {
		t.Errorf("a caller who is gone: want no other try, got %v after %v", err, d.waits)
	}
}

// TestNotKQueen: what another server answers is not taken for what was asked for, least of all for an empty list or a log
// that is whole.
func TestNotKQueen(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"Nothing":   {says(http.StatusOK, "", ""), "the server answers nothing, and not as KQueen does; is its URL right?"},
		"NoContent": {says(http.StatusNoContent, "", ""), "the server answers nothing, and not as KQueen does; is its URL right?"},
		"Page":      {says(http.StatusOK, "Content-Type: text/html; charset=utf-8", "<html>"), `the server answers with "text/html", and not as KQueen does; is its URL right? (`},
		"OtherJSON": {says(http.StatusOK, "Content-Type: application/json", `["a"]`), `the server answers with "application/json", and not as KQueen does; is its URL right? (`},
		"NoSuch":    {says(http.StatusNotFound, "Content-Type: text/html", "<html>"), "the server answers 404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			d := answering(t, Config{}, tc.answer)
			var out struct{ Name string }
			err := d.Call(t.Context(), Request{Method: http.MethodGet, Path: "/"}, &out)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestCallRefusesPathsOfOthers(t *testing.T) {
	d := answering(t, Config{}, says(http.StatusOK, "", ""))
	for _, path := range []string{"", "x", "//192.0.2.1/", "https://192.0.2.1/", "@192.0.2.1/", ":1/", "/%zz"} {
		if err := d.Call(t.Context(), Request{Method: http.MethodGet, Path: path}, nil); err == nil || len(d.seen) != 0 {
			t.Errorf("path %q: want it to be refused, got %v after %d calls", path, err, len(d.seen))
		}
	}
}

func TestTokenThatCannotBeHad(t *testing.T) {
	none := errors.New("sign in first")
	d := answering(t, Config{Token: func(context.Context) (string, error) { return "", none }}, says(http.StatusOK, "", ""))
	if err := d.Call(t.Context(), Request{Method: http.MethodGet, Path: "/"}, nil); !errors.Is(err, none) || len(d.seen) != 0 {
		t.Errorf("want %v and no call, got %v after %d", none, err, len(d.seen))
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]string{
		"0": "0s true", "5": "5s true", "30": "30s true", "31": "31s false", "-1": "0s false", "": "0s false", "soon": "0s false", "1e1": "0s false",
		"99999999999999999999": "0s false", "Sun, 01 Mar 2026 12:00:07 GMT": "7s true", "Sun, 01 Mar 2026 11:00:00 GMT": "0s true",
		"Sun, 01 Mar 2026 13:00:00 GMT": "1h0m0s false",
	}
	for value, want := range tests {
		after, again := retryAfter(value, now)
		if got := fmt.Sprint(after, again); got != want {
			t.Errorf("%q: want %s, got %s", value, want, got)
		}
	}
}

// TestApplyObject: an apply is a PATCH of its own media type, which is not sent again.
func TestApplyObject(t *testing.T) {
	d := answering(t, Config{}, says(http.StatusOK, "", `{"kind":"Cluster","name":"demo"}`))
	in := Collection{Kind: "Cluster", Organization: "blue"}
	got, err := d.ApplyObject(t.Context(), in, "demo", rest.Input{Name: "demo", Labels: map[string]string{"a": "b"}}, Apply{Manager: "me", Force: true, DryRun: true})
	if err != nil || got.Name != "demo" {
		t.Fatalf("%v, %v", got, err)
	}
	r := d.seen[0]
	if at := r.Method + " " + r.URL.String(); at != "PATCH /api/v1/organizations/blue/clusters/demo?dryRun=true&fieldManager=me&force=true" ||
		r.Header.Get("Content-Type") != rest.MediaApply || r.Header.Get("If-Match") != "" || d.bodies[0] != `{"labels":{"a":"b"}}` {
		t.Errorf("%s %v: %s", at, r.Header, d.bodies[0])
	}
}
