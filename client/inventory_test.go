package client

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
)

// TestInventoryFilter: every field is in the query under its name, and what is empty is not.
func TestInventoryFilter(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.FixedZone("", 3600))
	got := InventoryFilter{
		Paging: Paging{Limit: 7, Cursor: "c"}, Organizations: []string{"blue", "red"}, Clusters: []string{"shop"}, ClusterLabels: []string{"env=prod"},
		Namespaces: []string{"default"}, Repository: "r", Tag: "t", Text: "x", Digests: []string{"sha256:1", "sha256:2"}, Components: []string{"kubelet"},
		Version: "<1.34", Places: true, Severities: []string{"Critical"}, At: at, From: at, To: at,
	}.query()
	want := url.Values{
		"limit": {"7"}, "cursor": {"c"}, "organization": {"blue", "red"}, "cluster": {"shop"}, "clusterLabel": {"env=prod"}, "namespace": {"default"},
		"repository": {"r"}, "tag": {"t"}, "text": {"x"}, "digest": {"sha256:1", "sha256:2"}, "component": {"kubelet"}, "version": {"<1.34"}, "places": {"true"}, "severity": {"Critical"},
		"at": {"2026-03-01T08:00:00Z"}, "from": {"2026-03-01T08:00:00Z"}, "to": {"2026-03-01T08:00:00Z"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (InventoryFilter{}).query(); len(got) > 0 {
		t.Errorf("for nothing it asks %v", got)
	}
}

// TestExportInventory: what the server writes comes back as it is, with how well clusters are known; a refusal is a problem.
func TestExportInventory(t *testing.T) {
	a := newAuthority(t, "kqueen-api")
	status := http.StatusOK
	server := serve(t, a.chain(t, []*authority{a}), func(w http.ResponseWriter, r *http.Request) {
		if got := r.Method + " " + r.URL.String(); got != "GET /api/v1/inventory/nodes?cluster=shop&format=csv" {
			t.Errorf("called %s", got)
		}
		w.Header().Set(rest.HeaderInventoryAsOf, `{"clusters":3,"live":1,"lost":2,"ended":0}`)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"code":"forbidden"}`))
	})
	c, err := New(Config{Connection: Connection{Server: server.URL, CA: a.pem()}})
	if err != nil {
		t.Fatal(err)
	}
	data, asOf, err := c.ExportInventory(t.Context(), "listInventoryNodes", InventoryFilter{Clusters: []string{"shop"}}, nil, "csv")
	if err != nil || string(data) != `{"code":"forbidden"}` || asOf.Lost != 2 || asOf.Clusters != 3 {
		t.Errorf("got %s, %+v, %v", data, asOf, err)
	}
	status = http.StatusForbidden
	if data, _, err := c.ExportInventory(t.Context(), "listInventoryNodes", InventoryFilter{Clusters: []string{"shop"}}, nil, "csv"); err == nil || data != nil {
		t.Errorf("refused, it returns %s, %v", data, err)
	}
	if _, _, err := c.ExportInventory(t.Context(), "listNothing", InventoryFilter{}, nil, "csv"); err == nil {
		t.Error("an operation that does not exist is exported")
	}
}
