package inventory

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

// TestFirstListsOfAFleet: of clusters that are all listed for the first time a few are written at once, and come to their end. Were all begun, each would
// wait for all others, and what is given up half written is taken back and begun again.
func TestFirstListsOfAFleet(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s := newStore(t, db)
		s.limits.batch = 5
		var all errgroup.Group
		for n := range 12 {
			all.Go(func() error {
				changes := Changes{At: start, Whole: []Kind{KindNode}}
				for m := range 40 {
					changes.Set = append(changes.Set, node(fmt.Sprintf("n%03d", m), "0"))
				}
				return s.Apply(t.Context(), Cluster{UID: fmt.Sprint("uid-", n), Organization: "o", Name: fmt.Sprint("c", n)}, changes)
			})
		}
		ended := make(chan error, 1)
		go func() { ended <- all.Wait() }()
		most := 0
		for {
			var begun int
			if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM inventory_clusters WHERE pending > 0`).Scan(&begun); err != nil {
				t.Fatal(err)
			}
			most = max(most, begun)
			select {
			case err := <-ended:
				if err != nil || most == 0 || most > largeAtOnce {
					t.Errorf("%d were written at once, want at most %d; %v", most, largeAtOnce, err)
				}
				return
			default:
			}
		}
	})
}

// TestWaitForOthers: changes that wait for others to be written end with their context.
func TestWaitForOthers(t *testing.T) {
	s := newStore(t, databasetest.Open(t, databasetest.SQLite(t)))
	s.limits.batch = 0
	for range largeAtOnce {
		s.large <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Apply(ctx, Cluster{UID: "uid", Organization: "o", Name: "c"}, Changes{At: start, Set: []Item{node("n", "0")}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
