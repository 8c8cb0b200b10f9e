package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/rest"
)

// happen writes an event about an object of an organization, some seconds after another time.
func (h *fixture) happen(t *testing.T, organization, kind, name, eventType string, second int) {
	t.Helper()
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	e := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "org-" + organization, GenerateName: name + "-"},
		EventTime:  metav1.NewMicroTime(begun.Add(time.Duration(second) * time.Second)), Type: eventType, Reason: "Tested", Action: "Test",
		Note: fmt.Sprintf("event %d", second), ReportingController: "test", ReportingInstance: "test",
		Regarding: corev1.ObjectReference{APIVersion: "kqueen.io/v1alpha1", Kind: kind, Namespace: "org-" + organization, Name: name},
	}
	if err := h.plane.Create(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.plane.Delete(context.WithoutCancel(t.Context()), e) })
}

func (h *fixture) happened(t *testing.T, who, path string) (messages, cursor string) {
	t.Helper()
	a := h.do(t.Context(), t, who, "GET", path, "")
	var page rest.Page[rest.ObjectEvent]
	if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, a.status, a.body)
	}
	var all []string
	for _, e := range page.Items {
		all = append(all, strings.TrimPrefix(e.Message, "event "))
	}
	return strings.Join(all, " "), page.Cursor
}

// TestEvents: the newest come first, page by page, and no caller reads those of another organization.
func TestEvents(t *testing.T) {
	h := newFixture(t)
	const events = "/api/v1/organizations/blue/events"
	for i, second := range []int{3, 1, 5, 2, 4} {
		h.happen(t, "blue", "Cluster", "ev", []string{"Normal", "Warning"}[i%2], second)
	}
	h.happen(t, "blue", "NodePool", "ev", "Normal", 6)
	h.happen(t, "red", "Cluster", "ev", "Normal", 7)
	for query, want := range map[string]string{
		"": "6 5 4 3 2 1", "?kind=Cluster": "5 4 3 2 1", "?type=Warning": "2 1", "?kind=NodePool&name=ev": "6", "?name=other": "", "?kind=Cluster&limit=2": "5 4",
	} {
		if got, _ := h.happened(t, "viewer", events+query); got != want {
			t.Errorf("%q has %q, want %q", query, got, want)
		}
	}
	var pages []string
	cursor := ""
	for {
		page, next := h.happened(t, "viewer", events+"?limit=2&cursor="+cursor)
		pages = append(pages, page)
		if cursor = next; cursor == "" {
			break
		}
	}
	if got := strings.Join(pages, ","); got != "6 5,4 3,2 1" {
		t.Errorf("page by page: %s", got)
	}
	_, cursor = h.happened(t, "viewer", events+"?limit=2")
	for what, ask := range map[string][2]string{
		"another organization": {"red", "/api/v1/organizations/red/events?limit=2&cursor=" + cursor},
		"another caller":       {"owner", events + "?limit=2&cursor=" + cursor},
		"another filter":       {"viewer", events + "?limit=2&kind=Cluster&cursor=" + cursor},
	} {
		if a := h.do(t.Context(), t, ask[0], "GET", ask[1], ""); a.status != http.StatusUnprocessableEntity {
			t.Errorf("a cursor with %s: %d %s", what, a.status, a.body)
		}
	}
	if a := h.do(t.Context(), t, "viewer", "GET", events+"?type=Bad", ""); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a type that there is not: %d %s", a.status, a.body)
	}
}

// TestWatchEvents: a watch shows what happens, of the objects that were asked for.
func TestWatchEvents(t *testing.T) {
	h := newFixture(t)
	const watch = "/api/v1/organizations/blue/events?watch=true&kind=Cluster&name=followed"
	for who, want := range map[string]int{"": 401, "red": 404, "nobody": 404, "viewer": 200, "admin": 200} {
		ctx, cancel := context.WithCancel(t.Context())
		if got := h.begin(ctx, t, who, watch); got != want {
			t.Errorf("watch as %q: %d, want %d", who, got, want)
		}
		cancel()
	}
	lines := h.events(t, "viewer", watch)
	h.happen(t, "blue", "NodePool", "followed", "Normal", 1)
	h.happen(t, "red", "Cluster", "followed", "Normal", 2)
	h.happen(t, "blue", "Cluster", "followed", "Warning", 3)
	for line := range lines {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || strings.Contains(data, `"bookmark"`) {
			continue
		}
		var e struct {
			Type   string
			Object rest.ObjectEvent
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil || e.Type != "added" || e.Object.Message != "event 3" || e.Object.Object.Name != "followed" {
			t.Errorf("got %s (%v)", data, err)
		}
		return
	}
	t.Error("the stream ended")
}
