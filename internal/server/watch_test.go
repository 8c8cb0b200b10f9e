package server

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
)

func (h *fixture) events(t *testing.T, who, path string, headers ...string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.tokens[who])
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := h.Client().Do(req)
	if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("watch: %v %v", resp, err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer resp.Body.Close()
		for scanner := bufio.NewScanner(resp.Body); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

func next(t *testing.T, lines <-chan string, name string) rest.Event {
	t.Helper()
	event := ""
	for line := range lines {
		if is, ok := strings.CutPrefix(line, "event: "); ok {
			event = is
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || event != name {
			continue
		}
		var e rest.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	t.Fatalf("the stream ended before an event %q", name)
	return rest.Event{}
}

func TestWatch(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	const clusters = "/api/v1/organizations/blue/clusters"
	lines := h.events(t, "viewer", clusters+"?watch=true&name=thing")
	first := next(t, lines, "added")
	if first.Object == nil || first.Object.Name != "thing" {
		t.Fatalf("the first event is %+v", first)
	}
	mark := next(t, lines, "bookmark")
	h.do(t.Context(), t, "operator", "PATCH", clusters+"/thing", `{"labels":{"seen":"yes"}}`, "If-Match", "*", "Content-Type", "application/merge-patch+json")
	if e := next(t, lines, "modified"); e.Object.Labels["seen"] != "yes" || e.Revision == first.Revision {
		t.Errorf("the change is %+v", e)
	}
	again := h.events(t, "developer", clusters+"?watch=true&name=thing", "Last-Event-ID", mark.Revision)
	if e := next(t, again, "modified"); e.Object.Labels["seen"] != "yes" {
		t.Errorf("after the first event comes %+v", e)
	}
	later := h.events(t, "developer", clusters+"?watch=true&fromNow=true&name=thing")
	h.do(t.Context(), t, "operator", "PATCH", clusters+"/thing", `{"labels":{"seen":"again"}}`, "If-Match", "*", "Content-Type", "application/merge-patch+json")
	for line := range later {
		if line == "event: added" {
			t.Error("what was there is sent to who wants what comes")
		}
		if line == "event: modified" {
			break
		}
	}
	begun := time.Now()
	if err := h.access.Users.Disable(t.Context(), "viewer"); err != nil {
		t.Fatal(err)
	}
	next(t, lines, "problem")
	for line := range lines {
		if line != "" {
			t.Errorf("after the problem is sent %q", line)
		}
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("a disabled user's stream went on for %s", took)
	}
	// A role that is taken away ends a stream as well.
	o := &v1alpha1.Organization{}
	if err := h.plane.Get(t.Context(), client.ObjectKey{Name: "blue"}, o); err != nil {
		t.Fatal(err)
	}
	members := o.Spec.Members
	o.Spec.Members = members[:1]
	if err := h.plane.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		o.Spec.Members = members
		_ = h.plane.Update(context.WithoutCancel(t.Context()), o)
	})
	next(t, again, "problem")
}

// TestWatchBegins: what is there comes without an id, since who went on from one of those would miss the others, and then
// a bookmark with one, at once.
func TestWatchBegins(t *testing.T) {
	h := newFixture(t)
	for _, name := range []string{"wb-1", "wb-2", "wb-3"} {
		h.cluster(t, "blue", name)
	}
	var got []string
	for line := range h.events(t, "viewer", "/api/v1/organizations/blue/clusters?watch=true&name=wb-") {
		if field, _, ok := strings.Cut(line, ":"); ok && field != "data" {
			got = append(got, field)
		}
		if strings.HasPrefix(line, "id:") {
			break
		}
	}
	if want := "event event event event id"; strings.Join(got, " ") != want {
		t.Errorf("it begins with %q, want %q", got, want)
	}
}

// TestAnOutageIsNoRefusal: a caller whose credential cannot be looked up is not asked to sign in again.
func TestAnOutageIsNoRefusal(t *testing.T) {
	h := newFixture(t)
	if err := h.db.Close(); err != nil {
		t.Fatal(err)
	}
	a := h.do(t.Context(), t, "viewer", "GET", "/api/v1/organizations/blue/clusters", "")
	if p := a.problem(t); a.status != http.StatusServiceUnavailable || p.Code != rest.CodeUnavailable || !p.Retryable || a.header.Get("WWW-Authenticate") != "" {
		t.Errorf("the caller is told %d %+v, and to come with %q", a.status, p, a.header.Get("WWW-Authenticate"))
	}
}
