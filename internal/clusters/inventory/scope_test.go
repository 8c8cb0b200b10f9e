package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// TestScope: whatever is asked, with cursors of questions in a wider scope too, nothing of another organization is in the answer. What
// an organization has carries its name, and it begins and ends at times of its own.
func TestScope(t *testing.T) { databasetest.Each(t, testScope) }

func testScope(t *testing.T, db *database.DB) {
	s := newStore(t, db)
	organizations := []string{"alpha", "beta", "gamma"}
	fill(t, s, organizations)
	for _, narrow := range []int{0, 20} {
		s.limits.narrow = narrow
		testScopes(t, s, organizations)
	}
}

// within is a question within a scope.
func within(f Filter, scope Scope) Filter {
	f.Scope = scope
	return f
}

func testScopes(t *testing.T, s *Store, organizations []string) {
	t.Helper()
	for n, organization := range organizations {
		scope := Scope{Organizations: []string{organization}}
		want := wantedCounts(n)
		page, err := s.Images(t.Context(), Filter{Scope: scope, Tag: "latest", Text: "shared"})
		began := start.Add(time.Duration(n) * time.Hour)
		if err != nil || len(page.Rows) != 1 || !page.Rows[0].First.Equal(began) || page.Rows[0].Containers != want || len(page.AsOf) != 1 || !page.AsOf[0].AsOf.Equal(began) {
			t.Errorf("the image that all have, of %s alone: got %+v, %v", organization, page, err)
		}
		for name, f := range scopeFilters() {
			t.Run(organization+"/"+name, func(t *testing.T) {
				own := within(f, scope)
				for what, answer := range questions(t, s) {
					text, counts := answer(own)
					for _, other := range organizations {
						if other != organization && strings.Contains(text, other) {
							t.Errorf("%s shows what %s has:\n%s", what, other, text)
						}
					}
					if f.narrows() && !strings.Contains(text, organization) && name != "Other" {
						t.Errorf("%s shows nothing", what)
					}
					if counts > want {
						t.Errorf("%s counts %d, more than the organization has", what, counts)
					}
					none := own
					none.Scope = Scope{}
					if text, _ := answer(none); strings.Contains(text, "pha") || strings.Contains(text, "eta") || strings.Contains(text, "shared") {
						t.Errorf("%s shows something without a scope:\n%s", what, text)
					}
				}
			})
		}
	}
}

// wantedCounts is how many containers the n-th organization has of the shared image.
func wantedCounts(n int) int { return n + 1 }

func (f Filter) narrows() bool { return f.At.IsZero() && f.Version == "" && f.Text == "" }

func scopeFilters() map[string]Filter {
	return map[string]Filter{
		"All":      {},
		"Page":     {Limit: 1},
		"Past":     {At: start.Add(90 * time.Minute)},
		"Other":    {Organizations: []string{"alpha"}},
		"Label":    {ClusterLabels: map[string]string{"common": "yes"}},
		"Text":     {Text: "a"},
		"Shared":   {Text: "shared"},
		"Wildcard": {Repository: "*"},
		"Version":  {Version: ">=1.0"},
	}
}

func fill(t *testing.T, s *Store, organizations []string) {
	t.Helper()
	for n, organization := range organizations {
		c := Cluster{UID: "uid-" + organization, Organization: organization, Name: organization + "-cluster", Labels: map[string]string{"common": "yes", organization: "x"}}
		image := func(repository string) *Container {
			return &Container{Type: TypeApp, Node: organization + "-node", Phase: "Running", Image: Image{
				Reference: "r.example/" + repository + ":latest", Repository: "r.example/" + repository, Tag: "latest",
			}}
		}
		// The same group in all organizations, of a reference that each has alone.
		shared := image("shared")
		shared.Image.Reference = "r.example/shared:latest#" + organization
		items := []Item{
			{Key: Key{Kind: KindContainer, Namespace: organization + "-ns", Name: organization + "-pod"}, Container: image(organization)},
			{Key: Key{Kind: KindComponent, Name: organization + "-node", Part: "kubelet"}, Component: &Component{Version: "v1.20." + fmt.Sprint(n), Image: organization}},
			{Key: Key{Kind: KindComponent, Part: organization + "-component"}, Component: &Component{Version: "v1.20.0-" + organization}},
			{Key: Key{Kind: KindNode, Name: organization + "-node"}, Node: &Node{Ready: "False", Message: organization}},
			{Key: Key{Kind: KindCertificate, Name: organization + "-cert"}, Certificate: &Certificate{Subject: organization, NotAfter: start}},
		}
		for m := range wantedCounts(n) {
			items = append(items, Item{Key: Key{Kind: KindContainer, Namespace: organization, Name: fmt.Sprintf("%s-%d", organization, m)}, Container: shared})
		}
		at := start.Add(time.Duration(n) * time.Hour)
		if err := s.Apply(t.Context(), c, Changes{At: at, Set: items}); err != nil {
			t.Fatal(err)
		}
	}
}

// questions are all that the store answers, as one text each and the highest number in it.
func questions(t *testing.T, s *Store) map[string]func(Filter) (string, int) {
	t.Helper()
	out := map[string]func(Filter) (string, int){
		"clusters": func(f Filter) (string, int) {
			states, err := s.Clusters(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%+v", states), len(states)
		},
		"images":     ask(t, s, s.Images, func(r ImageRow) int { return max(r.Containers, r.Clusters) }),
		"containers": ask(t, s, s.Containers, func(ContainerRow) int { return 1 }),
		"binaries":   ask(t, s, s.Binaries, func(r BinaryRow) int { return max(r.Clusters, r.Nodes) }),
		"places":     ask(t, s, s.BinaryPlaces, func(ItemRow) int { return 1 }),
		"images between": ask(t, s, func(ctx context.Context, f Filter) (Page[Change[ImageRow]], error) {
			return s.ImagesBetween(ctx, f, start.Add(-time.Hour), start.Add(100*time.Hour))
		}, func(r Change[ImageRow]) int { return r.Row.Containers }),
		"binaries between": ask(t, s, func(ctx context.Context, f Filter) (Page[Change[BinaryRow]], error) {
			return s.BinariesBetween(ctx, f, start.Add(-time.Hour), start.Add(100*time.Hour))
		}, func(r Change[BinaryRow]) int { return r.Row.Nodes }),
		"findings": ask(t, s, s.Findings, func(Finding) int { return 1 }),
	}
	for _, kind := range []Kind{KindNode, KindCertificate, KindContainer} {
		out[string(kind)] = ask(t, s, func(ctx context.Context, f Filter) (Page[ItemRow], error) { return s.Items(ctx, kind, f) }, func(ItemRow) int { return 1 })
	}
	return out
}

// ask reads pages to their end, and tries each cursor of a wider scope: it is refused, or shows no more.
func ask[T any](t *testing.T, s *Store, read func(context.Context, Filter) (Page[T], error), count func(T) int) func(Filter) (string, int) {
	t.Helper()
	return func(f Filter) (string, int) {
		var text strings.Builder
		most := 0
		for {
			page, err := read(t.Context(), f)
			if err != nil {
				t.Fatalf("%+v: %v", f, err)
			}
			fmt.Fprintf(&text, "%+v\n", page)
			for _, row := range page.Rows {
				most = max(most, count(row))
			}
			if page.Next == "" {
				break
			}
			f.Cursor = page.Next
		}
		wide := f
		wide.Scope, wide.Cursor, wide.Limit = Scope{All: true}, "", 1
		if page, err := read(t.Context(), wide); err == nil && page.Next != "" {
			f.Cursor = page.Next
			if _, err := read(t.Context(), f); !isInvalid(err) {
				t.Errorf("a cursor of another scope: %v", err)
			}
		}
		return text.String(), most
	}
}

func isInvalid(err error) bool {
	_, ok := errors.AsType[*invalid.Error](err)
	return ok
}
