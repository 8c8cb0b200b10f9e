package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

// fresh is a container that no one has seen before, with an image, a node and a workload that no one has, either.
func fresh(n int) Item {
	name := fmt.Sprintf("%s-%d", strings.Repeat("x", 40), n)
	return Item{Key: Key{Kind: KindContainer, Namespace: name, Name: name, UID: fmt.Sprint(n)}, Container: &Container{
		Node: name, WorkloadName: name, Phase: "Running", Image: Image{Reference: name + ":1", Repository: name, Tag: "1"},
	}}
}

// kept is how many rows there are in the tables that grow with what clusters send.
func kept(t *testing.T, db *database.DB) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, table := range []string{"rows", "seen", "images", "texts", "contents"} {
		var n int
		if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM inventory_`+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		out[table] = n
	}
	return out
}

// charged fails unless clusters are charged exactly what their rows take.
func charged(t *testing.T, db *database.DB) {
	t.Helper()
	var wrong int
	err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM inventory_clusters c WHERE c.bytes <> (SELECT COALESCE(SUM(r.size), 0) FROM inventory_rows r
		WHERE r.cluster = c.id)`).Scan(&wrong)
	if err != nil || wrong != 0 {
		t.Errorf("%d clusters are charged something else than their rows, %v", wrong, err)
	}
}

// TestEndlessNames: a cluster in which everything is new all the time costs no more than its part, and loses its own oldest history alone: what
// is said of it since then, and of others, is as before.
func TestEndlessNames(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s := newStore(t, db)
		s.limits.bytes, s.limits.batch = 100_000, 30
		bad, good := Cluster{UID: "bad", Organization: "o", Name: "bad"}, Cluster{UID: "good", Organization: "o", Name: "good"}
		apply := func(c Cluster, minute int, set []Item, gone []Key) {
			t.Helper()
			if err := s.Apply(t.Context(), c, Changes{At: start.Add(time.Duration(minute) * time.Minute), Set: set, Gone: gone}); err != nil {
				t.Fatal(err)
			}
		}
		apply(good, 0, []Item{fresh(-1), node("n", "1")}, nil)
		apply(good, 1, []Item{node("n", "2")}, []Key{fresh(-1).Key})
		const rounds, each = 100, 20
		most := 0
		for n := range rounds {
			var set []Item
			var gone []Key
			for m := range each {
				set = append(set, fresh(n*each+m))
				if n > 0 {
					gone = append(gone, fresh((n-1)*each+m).Key)
				}
			}
			apply(bad, n+2, set, gone)
			most = max(most, kept(t, db)["rows"])
		}
		charged(t, db)
		one, err := entryOf(fresh(rounds * each))
		if err != nil {
			t.Fatal(err)
		}
		bound := int(s.limits.bytes)/one.size() + 2*each
		for table, rows := range kept(t, db) {
			if rows > bound {
				t.Errorf("%d rows in %s, want %d at most", rows, table, bound)
			}
		}
		if most > bound || most < bound/2 {
			t.Errorf("there were %d rows at most, want about %d", most, bound)
		}
		judgeEndless(t, s, rounds, each)
	})
}

func judgeEndless(t *testing.T, s *Store, rounds, each int) {
	t.Helper()
	states, err := s.Clusters(t.Context(), Filter{Scope: everything})
	if err != nil || len(states) != 2 {
		t.Fatal(states, err)
	}
	said, begins, found := strings.Cut(states[0].Message, "its history begins at ")
	if !found || said != "it changes more than is kept, 0 MiB: " || states[1].Message != "it was not confirmed since then that it is watched" && states[1].Message != "" {
		t.Errorf("it is said: %q and %q", states[0].Message, states[1].Message)
	}
	since, err := time.Parse(time.RFC3339, begins)
	if err != nil {
		t.Fatal(err)
	}
	names := func(cluster string, at time.Time) (out []string) {
		f := Filter{Scope: everything, Clusters: []string{cluster}, At: at, Limit: MaxLimit}
		for _, row := range all(t, f, func(f Filter) (Page[ContainerRow], error) { return s.Containers(t.Context(), f) }) {
			out = append(out, row.Key.UID)
		}
		slices.Sort(out)
		return out
	}
	whole := 0
	for n := range rounds {
		at := start.Add(time.Duration(n+2) * time.Minute)
		if at.Before(since.Add(time.Second)) {
			continue
		}
		whole++
		var want []string
		for m := range each {
			want = append(want, fmt.Sprint(n*each+m))
		}
		slices.Sort(want)
		if got := names("bad", at); !slices.Equal(got, want) {
			t.Errorf("at %s: got %v, want %v", at, got, want)
		}
	}
	if whole < 5 {
		t.Errorf("only %d of %d rounds are kept", whole, rounds)
	}
	if got := names("good", start); !slices.Equal(got, []string{"-1"}) {
		t.Errorf("of the other cluster there is %v", got)
	}
	if page, err := s.Images(t.Context(), Filter{Scope: everything, Limit: MaxLimit}); err != nil || len(page.Rows) != each {
		t.Errorf("there are %d images now, %v", len(page.Rows), err)
	}
}

// TestTooMuchAtOnce: what is there at once is bounded, too. What is new is dropped, and what was there still changes and goes.
func TestTooMuchAtOnce(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s := newStore(t, db)
		s.limits.bytes = 100_000
		c := Cluster{UID: "uid", Organization: "o", Name: "c"}
		for n := range 40 {
			changes := Changes{At: start.Add(time.Duration(n) * time.Minute)}
			for m := range 20 {
				changes.Set = append(changes.Set, fresh(n*20+m))
			}
			if err := s.Apply(t.Context(), c, changes); err != nil {
				t.Fatal(err)
			}
		}
		one, err := entryOf(fresh(100))
		if err != nil {
			t.Fatal(err)
		}
		if rows, bound := kept(t, db)["rows"], int(s.limits.bytes)/one.size()+25; rows > bound {
			t.Errorf("%d rows, want %d at most", rows, bound)
		}
		states, err := s.Clusters(t.Context(), Filter{Scope: everything})
		if err != nil || !strings.Contains(states[0].Message, "there are more items than are kept, 200000 of a kind or 0 MiB: Container") {
			t.Errorf("it is said %+v, %v", states, err)
		}
		changed := fresh(0)
		changed.Container.Phase = "Failed"
		if err := s.Apply(t.Context(), c, Changes{At: start.AddDate(0, 0, 1), Set: []Item{changed}, Gone: []Key{fresh(1).Key}}); err != nil {
			t.Fatal(err)
		}
		page, err := s.Containers(t.Context(), Filter{Scope: everything, Limit: MaxLimit})
		phases := map[string]string{}
		for _, row := range page.Rows {
			phases[row.Key.UID] = row.Container.Phase
		}
		if err != nil || phases["0"] != "Failed" || phases["1"] != "" || phases["2"] != "Running" {
			t.Errorf("got %v, %v", phases, err)
		}
		charged(t, db)
		empty(t, s)
	})
}
