package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
)

func TestCursors(t *testing.T) {
	h := newFixture(t)
	for i := range 7 {
		body := fmt.Sprintf(`{"name":"paged-%d","labels":{"n":"%d"},"spec":{"version":"v1.36.3"}}`, i, i%2)
		if a := h.do(t.Context(), t, "operator", "POST", "/api/v1/organizations/blue/clusters", body); a.status != http.StatusCreated {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	t.Cleanup(func() {
		all := client.InNamespace("org-blue")
		_ = h.plane.DeleteAllOf(context.WithoutCancel(t.Context()), &v1alpha1.Cluster{}, all)
	})
	const list = "/api/v1/organizations/blue/clusters?name=paged&limit=3"
	h.await(t, func() bool {
		return len(h.list(t, "viewer", "/api/v1/organizations/blue/clusters?name=paged").Items) == 7
	})
	var names []string
	cursor, pages := "", 0
	for pages == 0 || cursor != "" {
		page := h.list(t, "viewer", list+"&sort=-name&cursor="+cursor)
		for _, o := range page.Items {
			names = append(names, o.Name)
		}
		cursor = page.Cursor
		pages++
	}
	if got := strings.Join(names, " "); got != "paged-6 paged-5 paged-4 paged-3 paged-2 paged-1 paged-0" || pages != 3 {
		t.Errorf("%d pages: %s", pages, got)
	}
	if page := h.list(t, "viewer", "/api/v1/organizations/blue/clusters?labelSelector=n%3D1&name=paged"); len(page.Items) != 3 {
		t.Errorf("n=1 has %d", len(page.Items))
	}
	cursor = h.list(t, "viewer", list).Cursor
	for what, ask := range map[string][2]string{
		"another organization": {"red", "/api/v1/organizations/red/clusters?name=paged&limit=3&cursor=" + cursor},
		"another caller":       {"owner", list + "&cursor=" + cursor},
		"another order":        {"viewer", list + "&sort=-name&cursor=" + cursor},
		"another filter":       {"viewer", "/api/v1/organizations/blue/clusters?name=page&cursor=" + cursor},
		"another kind":         {"viewer", "/api/v1/organizations/blue/nodepools?name=paged&limit=3&cursor=" + cursor},
		"forged":               {"viewer", list + "&cursor=" + cursor[:len(cursor)-2] + "AA"},
		"nonsense":             {"viewer", list + "&cursor=%00"},
	} {
		if a := h.do(t.Context(), t, ask[0], "GET", ask[1], ""); a.status != http.StatusUnprocessableEntity || a.problem(t).Errors[0].Pointer != "?cursor" {
			t.Errorf("a cursor with %s: %d %s", what, a.status, a.body)
		}
	}
	for _, wrong := range []string{"limit=0", "limit=501", "limit=x", "sort=age", "ready=maybe", "labelSelector=a%3D%3D%3D", "unknown=1"} {
		if a := h.do(t.Context(), t, "viewer", "GET", "/api/v1/organizations/blue/clusters?"+wrong, ""); a.status != http.StatusUnprocessableEntity || len(a.problem(t).Errors) != 1 {
			t.Errorf("%s: %d %s", wrong, a.status, a.body)
		}
	}
}

func (h *fixture) list(t *testing.T, who, path string) rest.List {
	t.Helper()
	a := h.do(t.Context(), t, who, "GET", path, "")
	var l rest.List
	if err := json.Unmarshal(a.body, &l); err != nil || a.status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, a.status, a.body)
	}
	return l
}

func (h *fixture) await(t *testing.T, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it did not become so")
		}
	}
}
