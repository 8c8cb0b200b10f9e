package server

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
)

// TestOperations: what goes on is listed, page by page, to those who may list the objects.
func TestOperations(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	for _, name := range []string{"working-1", "working-2"} {
		h.cluster(t, "blue", name)
	}
	h.cluster(t, "red", "working-3")
	const operations = "/api/v1/organizations/blue/operations"
	list := func(query string) (names []string, cursor string) {
		a := h.do(t.Context(), t, "viewer", "GET", operations+query, "")
		var page rest.Page[rest.Operation]
		if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", query, a.status, a.body)
		}
		for _, op := range page.Items {
			names = append(names, op.Object.Kind+"/"+op.Object.Name+" "+op.Action)
		}
		return names, page.Cursor
	}
	h.await(t, func() bool { all, _ := list(""); return len(all) == 10 })
	for query, want := range map[string]int{"?kind=Cluster": 3, "?kind=Upgrade": 1, "?cluster=thing": 7, "?state=Running": 10, "?state=Stalled": 0, "?kind=Machine&cluster=thing": 1} {
		if got, _ := list(query); len(got) != want {
			t.Errorf("%s has %v, want %d", query, got, want)
		}
	}
	all, _ := list("")
	var paged []string
	for cursor, more := "", true; more; more = cursor != "" {
		page, next := list("?limit=2&cursor=" + cursor)
		paged, cursor = append(paged, page...), next
	}
	if diff := cmp.Diff(all, paged); diff != "" {
		t.Errorf("page by page (-all +paged)\n%s", diff)
	}
	_, cursor := list("?limit=2")
	if a := h.do(t.Context(), t, "red", "GET", "/api/v1/organizations/red/operations?limit=2&cursor="+cursor, ""); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a cursor of another organization: %d %s", a.status, a.body)
	}
}
