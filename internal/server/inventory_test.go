package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/clusters/inventory"
)

// observations are a store in which every organization has a cluster of each kind of row, and which keeps what it is asked.
type observations struct {
	mu    sync.Mutex
	asked []inventory.Filter
}

// mark stands in every row of an organization.
func mark(organization string) string { return "of-" + organization }

// places are the clusters that a filter takes, as a store reads them.
func (o *observations) places(f inventory.Filter) ([]inventory.Place, []inventory.ClusterState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, f)
	var all []inventory.Place
	var states []inventory.ClusterState
	for _, organization := range []string{"blue", "green", "red"} {
		within := f.Scope.All || slices.Contains(f.Scope.Organizations, organization)
		if within && (len(f.Organizations) == 0 || slices.Contains(f.Organizations, organization)) {
			all = append(all, inventory.Place{Organization: organization, Cluster: "shop", ClusterUID: mark(organization), Since: time.Unix(1e9, 0)})
			states = append(states, inventory.ClusterState{
				Cluster: inventory.Cluster{UID: mark(organization), Organization: organization, Name: "shop"}, AsOf: time.Unix(2e9, 0),
				Live: organization == "blue", Message: "it does not answer",
			})
		}
	}
	return all, states
}

// rows answers with a row for each place.
func rows[T any](o *observations, f inventory.Filter, row func(inventory.Place) T) (inventory.Page[T], error) {
	places, states := o.places(f)
	page := inventory.Page[T]{AsOf: states}
	for _, p := range places {
		page.Rows = append(page.Rows, row(p))
	}
	return page, nil
}

func image(p inventory.Place) inventory.ImageRow {
	return inventory.ImageRow{Image: inventory.Image{Reference: "registry.example.com/" + mark(p.Organization) + ":1", Repository: "registry.example.com/" + mark(p.Organization), Tag: "1"}, Clusters: 1, Containers: 2}
}

func (o *observations) Images(_ context.Context, f inventory.Filter) (inventory.Page[inventory.ImageRow], error) {
	return rows(o, f, image)
}

func (o *observations) Containers(_ context.Context, f inventory.Filter) (inventory.Page[inventory.ContainerRow], error) {
	return rows(o, f, func(p inventory.Place) inventory.ContainerRow {
		return inventory.ContainerRow{Place: p, Key: inventory.Key{Namespace: "default", Name: "web-1", Part: "web"}, Container: inventory.Container{Image: image(p).Image}}
	})
}

func (o *observations) Binaries(_ context.Context, f inventory.Filter) (inventory.Page[inventory.BinaryRow], error) {
	return rows(o, f, func(p inventory.Place) inventory.BinaryRow {
		return inventory.BinaryRow{Component: mark(p.Organization), Version: "v1.36.3"}
	})
}

func item(p inventory.Place) inventory.ItemRow {
	return inventory.ItemRow{Place: p, Item: inventory.Item{Key: inventory.Key{Name: mark(p.Organization), Part: "kubelet"}}}
}

func (o *observations) BinaryPlaces(_ context.Context, f inventory.Filter) (inventory.Page[inventory.ItemRow], error) {
	return rows(o, f, item)
}

func (o *observations) Items(_ context.Context, _ inventory.Kind, f inventory.Filter) (inventory.Page[inventory.ItemRow], error) {
	return rows(o, f, item)
}

func (o *observations) ImagesBetween(_ context.Context, f inventory.Filter, _, _ time.Time) (inventory.Page[inventory.Change[inventory.ImageRow]], error) {
	return rows(o, f, func(p inventory.Place) inventory.Change[inventory.ImageRow] {
		return inventory.Change[inventory.ImageRow]{Row: image(p), Appeared: p.Organization == "blue"}
	})
}

func (o *observations) BinariesBetween(_ context.Context, f inventory.Filter, _, _ time.Time) (inventory.Page[inventory.Change[inventory.BinaryRow]], error) {
	return rows(o, f, func(p inventory.Place) inventory.Change[inventory.BinaryRow] {
		return inventory.Change[inventory.BinaryRow]{Row: inventory.BinaryRow{Component: mark(p.Organization)}}
	})
}

func (o *observations) Clusters(_ context.Context, f inventory.Filter) ([]inventory.ClusterState, error) {
	_, states := o.places(f)
	return states, nil
}

func (o *observations) Findings(_ context.Context, f inventory.Filter) (inventory.Page[inventory.Finding], error) {
	return rows(o, f, func(p inventory.Place) inventory.Finding {
		return inventory.Finding{Place: p, Rule: "NodeNotReady", Severity: inventory.Critical, Reason: mark(p.Organization)}
	})
}

// inventories are the lists of the inventory.
func inventories() []string {
	return []string{
		"images", "containers", "binaries", "nodes", "workloads", "certificates", "findings", "clusters",
		"images?from=2026-01-01T00:00:00Z", "binaries?from=2026-01-01T00:00:00Z", "binaries?places=true", "images?format=csv", "images?format=cyclonedx", "findings?format=csv",
	}
}

// TestInventoryOfOthers: what a caller is shown, and what the store is asked for them, is of their organizations alone.
func TestInventoryOfOthers(t *testing.T) {
	h := newFixture(t)
	for _, path := range inventories() {
		for who, want := range map[string]inventory.Scope{
			"viewer": {Organizations: []string{"blue"}}, "owner": {Organizations: []string{"blue"}}, "red": {Organizations: []string{"red"}}, "nobody": {}, "admin": {All: true},
			local: {All: true},
		} {
			h.observed.asked = nil
			a := h.do(t.Context(), t, who, "GET", "/api/v1/inventory/"+path, "")
			if a.status != http.StatusOK {
				t.Fatalf("%s as %s: %d %s", path, who, a.status, a.body)
			}
			if who == "nobody" {
				if len(h.observed.asked) > 0 {
					t.Errorf("%s as one who belongs nowhere: the store is asked %+v", path, h.observed.asked)
				}
				continue
			}
			if len(h.observed.asked) != 1 || cmp.Diff(want, h.observed.asked[0].Scope) != "" {
				t.Errorf("%s as %s: the store is asked %+v, want the scope %+v", path, who, h.observed.asked, want)
			}
			for _, organization := range []string{"blue", "green", "red"} {
				may := want.All || slices.Contains(want.Organizations, organization)
				if may != strings.Contains(string(a.body), mark(organization)) {
					t.Errorf("%s as %s has %s: %t, want %t:\n%s", path, who, organization, !may, may, a.body)
				}
			}
		}
	}
}

// TestInventoryNarrowed: an organization that a caller names is one of theirs, or not found.
func TestInventoryNarrowed(t *testing.T) {
	h := newFixture(t)
	h.green(t)
	for name, tc := range map[string]struct {
		who, query string
		status     int
		want       []string
	}{
		"One":         {"viewer", "?organization=green", http.StatusOK, []string{"green"}},
		"Both":        {"viewer", "?organization=green&organization=blue", http.StatusOK, []string{"blue", "green"}},
		"All":         {"viewer", "", http.StatusOK, []string{"blue", "green"}},
		"Foreign":     {"viewer", "?organization=red", http.StatusNotFound, nil},
		"ForeignToo":  {"viewer", "?organization=blue&organization=red", http.StatusNotFound, nil},
		"None":        {"viewer", "?organization=none", http.StatusNotFound, nil},
		"Stranger":    {"", "", http.StatusUnauthorized, nil},
		"AdminOfOne":  {"admin", "?organization=red", http.StatusOK, []string{"red"}},
		"AdminOfNone": {"admin", "?organization=gone", http.StatusOK, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			h.observed.asked = nil
			a := h.do(t.Context(), t, tc.who, "GET", "/api/v1/inventory/containers"+tc.query, "")
			if a.status != tc.status {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if tc.status != http.StatusOK {
				if len(h.observed.asked) > 0 {
					t.Errorf("the store is asked %+v", h.observed.asked)
				}
				return
			}
			var page rest.InventoryPage[rest.InventoryContainer]
			if err := json.Unmarshal(a.body, &page); err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, c := range page.Items {
				got = append(got, c.Organization)
				if c.AsOf == nil || c.Live != (c.Organization == "blue") {
					t.Errorf("%+v does not say as of when it is", c)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("organizations (-want +got):\n%s", diff)
			}
			if page.AsOf.Clusters != len(tc.want) || page.AsOf.Lost != len(page.AsOf.NotLive) {
				t.Errorf("as of %+v", page.AsOf)
			}
		})
	}
}

// TestInventoryRefuses: a parameter that is wrong is named.
func TestInventoryRefuses(t *testing.T) {
	h := newFixture(t)
	for path, pointer := range map[string]string{
		"images?at=yesterday": "?at", "images?limit=501": "?limit", "images?to=2026-01-01T00:00:00Z": "?from", "images?format=xml": "?format",
		"containers?format=cyclonedx": "?format", "images?digest=nginx": "?digest", "binaries?version=new": "?version", "nodes?clusterLabel=env": "?clusterLabel",
		"binaries?places=true&from=2026-01-01T00:00:00Z": "?places", "images?from=2026-01-01T00:00:00Z&format=cyclonedx": "?format", "images?at=2999-01-01T00:00:00Z": "?at",
		"clusters?cursor=x": "?cursor", "nodes?namespace=default": "?namespace", "images?format=csv&cursor=x": "?cursor",
	} {
		a := h.do(t.Context(), t, "viewer", "GET", "/api/v1/inventory/"+path, "")
		if a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", path, a.status, a.body)
			continue
		}
		if p := a.problem(t); len(p.Errors) != 1 || p.Errors[0].Pointer != pointer {
			t.Errorf("%s: %+v, want %s", path, p.Errors, pointer)
		}
	}
	for body, pointer := range map[string]string{
		`{"digests":[]}`: "/digests", `{}`: "", `{"digests":["sha256:` + strings.Repeat("0", 64) + `","nginx"]}`: "/digests/1",
		`{"digests":[` + strings.TrimSuffix(strings.Repeat(`"sha256:`+strings.Repeat("0", 64)+`",`, 1001), ",") + `]}`: "/digests",
	} {
		a := h.do(t.Context(), t, "viewer", "POST", "/api/v1/inventory/containers/search", body)
		if a.status != http.StatusUnprocessableEntity {
			t.Errorf("%.60s: %d %s", body, a.status, a.body)
			continue
		}
		if p := a.problem(t); len(p.Errors) != 1 || p.Errors[0].Pointer != pointer {
			t.Errorf("%.60s: %+v, want %s", body, p.Errors, pointer)
		}
	}
	if len(h.observed.asked) > 0 {
		t.Errorf("the store is asked %+v", h.observed.asked)
	}
}

// TestInventorySearch: all digests of a feed reach the store, and exports have their types and how well clusters are known.
func TestInventorySearch(t *testing.T) {
	h := newFixture(t)
	digests := make([]string, 1000)
	for i := range digests {
		digests[i] = "sha256:" + strings.Repeat("0123456789abcdef", 4)
	}
	body, err := json.Marshal(rest.InventorySearch{Digests: digests})
	if err != nil {
		t.Fatal(err)
	}
	a := h.do(t.Context(), t, "viewer", "POST", "/api/v1/inventory/containers/search?namespace=default&limit=7", string(body))
	if a.status != http.StatusOK || len(h.observed.asked) != 1 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if f := h.observed.asked[0]; len(f.Digests) != 1000 || f.Limit != 7 || !slices.Equal(f.Namespaces, []string{"default"}) {
		t.Errorf("the store is asked %+v", f)
	}
	for accept, want := range map[string]string{
		"text/csv": "text/csv; charset=utf-8; header=present", "application/vnd.cyclonedx+json": "application/vnd.cyclonedx+json; version=1.6", "application/json": "application/json",
	} {
		a := h.do(t.Context(), t, "viewer", "GET", "/api/v1/inventory/images", "", "Accept", accept)
		if got := a.header.Get("Content-Type"); a.status != http.StatusOK || got != want {
			t.Errorf("%s: %d %s, want %s", accept, a.status, got, want)
		}
		if got := a.header.Get(rest.HeaderInventoryAsOf); got != `{"oldestAt":"2033-05-18T03:33:20Z","clusters":1,"live":1,"lost":0,"ended":0}` {
			t.Errorf("%s: the header says %s", accept, got)
		}
	}
}
