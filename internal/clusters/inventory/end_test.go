package inventory

import (
	"fmt"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

// TestEndAtOnce: what came at the moment at which its cluster left was never seen.
func TestEndAtOnce(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s := newStore(t, db)
		for n, at := range []time.Time{start, start.Add(time.Hour)} {
			c := Cluster{UID: fmt.Sprintf("uid-%d", n), Organization: "o", Name: "c"}
			item := Item{Key: Key{Kind: KindComponent, Part: "kubelet"}, Component: &Component{Version: "v1.36.3"}}
			if err := s.Apply(t.Context(), c, Changes{At: at, Set: []Item{item}}); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				if err := s.End(t.Context(), c.UID, at); err != nil {
					t.Fatal(err)
				}
			}
		}
		page, err := s.Binaries(t.Context(), Filter{Scope: everything})
		if err != nil || len(page.Rows) != 1 || !page.Rows[0].First.Equal(start.Add(time.Hour)) {
			t.Errorf("got %+v: %v", page.Rows, err)
		}
	})
}
