package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
	"kqueen.io/kqueen/internal/server/chain"
)

func TestMain(m *testing.M) { os.Exit(databasetest.Run(m)) }

// TestOthersDoNotMatter: whatever a member asks, of every list and in every format, with filters about what others have and with cursors that
// others were given, the answer is the same, to the byte, as where no other organization ever had a cluster. Counts, times of first and last
// sight, pages and errors are part of it.
func TestOthersDoNotMatter(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		history := g.history()
		everyone := filled(t, db, history, organizations())
		for _, members := range [][]string{{"o0"}, {"o1", "o3"}, {"o0", "o1", "o2", "o4"}} {
			alone := filled(t, databasetest.Open(t, databasetest.SQLite(t)), history, members)
			compareWorlds(t, g, everyone, alone, members)
		}
	})
}

func compareWorlds(t *testing.T, g *generator, everyone, alone *inventory.Store, members []string) {
	t.Helper()
	member, admin := chain.Caller{Name: "member", Roles: roles(members...)}, chain.Caller{Name: "admin", Admin: true}
	var cursors []string
	answers, differ := 0, 0
	for range 600 {
		q := g.question(members)
		if len(cursors) > 0 && g.IntN(4) == 0 {
			q.where.Cursor = cursors[g.IntN(len(cursors))]
		}
		got, next := asks(t, everyone, member, q)
		want, _ := asks(t, alone, member, q)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("a member of %v asks %+v, and it matters what others have (-alone +beside others):\n%s", members, q, diff)
		}
		other, others := asks(t, everyone, admin, q)
		if !strings.HasPrefix(got, "error") {
			answers++
			if other != got {
				differ++
			}
		}
		for _, cursor := range []string{next, others} {
			if cursor != "" {
				cursors = append(cursors, cursor)
			}
		}
	}
	if answers < 200 || differ < 100 || len(cursors) < 20 {
		t.Errorf("of %d answers %d were others for an administrator, with %d cursors: too few to show something", answers, differ, len(cursors))
	}
}

// asks answers as a handler does: as one text, and the cursor of the next page.
func asks(t *testing.T, s *inventory.Store, caller chain.Caller, q question) (answer, next string) {
	t.Helper()
	everywhere := []string{""}
	for organization := range caller.Roles {
		everywhere = append(everywhere, "org-"+organization)
	}
	if !caller.Admin {
		everywhere = everywhere[1:]
	}
	scope, err := reach(t.Context(), caller, q.where.Organizations, grants(everywhere...))
	if err != nil {
		return "error " + err.Error(), ""
	}
	f := q.filter
	f.Scope = scope
	if err := q.where.into(&f, noon); err != nil {
		return "error " + err.Error(), ""
	}
	a := asked{filter: f, format: q.format, nothing: !scope.All && len(scope.Organizations) == 0, begin: freely}
	h := &handler{store: &Store{s, s}, now: func() time.Time { return noon }}
	out, err := operations()[q.operation](t.Context(), h, a, q)
	if err != nil {
		said, failed := json.Marshal(err)
		return fmt.Sprint("error ", err, " ", string(said), failed), ""
	}
	body, isBytes := out.Body.([]byte)
	if !isBytes {
		if body, err = json.Marshal(out.Body); err != nil {
			t.Fatal(err)
		}
	}
	var page struct{ Cursor string }
	if !isBytes {
		if err := json.Unmarshal(body, &page); err != nil {
			t.Fatal(err)
		}
	}
	return out.ContentType + "\n" + out.AsOf + "\n" + string(body), page.Cursor
}

type operating func(ctx context.Context, h *handler, a asked, q question) (*output, error)

// operations are those of the API, from where it is known what the caller may see.
func operations() map[string]operating {
	of := func(kind inventory.Kind) func(*handler) reading[inventory.ItemRow] {
		return func(h *handler) reading[inventory.ItemRow] { return h.items(kind) }
	}
	return map[string]operating{
		"images": func(ctx context.Context, h *handler, a asked, _ question) (*output, error) {
			t := imageTable
			t.bom, t.now = bill, h.now
			return answer(ctx, a, h.store.Images, toImage, t)
		},
		"containers": func(ctx context.Context, h *handler, a asked, _ question) (*output, error) {
			return answer(ctx, a, h.store.Containers, toContainer, containerTable)
		},
		"binaries": func(ctx context.Context, h *handler, a asked, _ question) (*output, error) {
			return answer(ctx, a, h.store.Binaries, toBinary, binaryTable)
		},
		"places": func(ctx context.Context, h *handler, a asked, _ question) (*output, error) {
			return answer(ctx, a, h.store.BinaryPlaces, toBinaryPlace, binaryPlaceTable)
		},
		"findings": func(ctx context.Context, h *handler, a asked, _ question) (*output, error) {
			return answer(ctx, a, h.store.Findings, toFinding, findingTable)
		},
		"nodes":        ofItems(of(inventory.KindNode), toNode, nodeTable),
		"workloads":    ofItems(of(inventory.KindWorkload), toWorkload, workloadTable),
		"certificates": ofItems(of(inventory.KindCertificate), toCertificate, certificateTable),
		"clusters": func(ctx context.Context, h *handler, a asked, _ question) (*output, error) {
			return answer(ctx, a, h.readClusters, toClusterRow, clusterTable)
		},
		"images between": func(ctx context.Context, h *handler, a asked, q question) (*output, error) {
			return answer(ctx, a, between(&q.two, h.store.ImagesBetween), toImageChange, imageTable)
		},
		"binaries between": func(ctx context.Context, h *handler, a asked, q question) (*output, error) {
			return answer(ctx, a, between(&q.two, h.store.BinariesBetween), toBinaryChange, binaryTable)
		},
	}
}

func ofItems[W any](of func(*handler) reading[inventory.ItemRow], row func(inventory.ItemRow, places) W, t table[W]) operating {
	return func(ctx context.Context, h *handler, a asked, _ question) (*output, error) {
		return answer(ctx, a, of(h), row, t)
	}
}

func organizations() []string { return []string{"o0", "o1", "o2", "o3", "o4", "o5"} }

// filled is a store to which the history of some organizations was told.
func filled(t *testing.T, db *database.DB, history []told, of []string) *inventory.Store {
	t.Helper()
	s := inventory.New(db, func() time.Time { return noon })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, one := range history {
		if !slices.Contains(of, one.cluster.Organization) {
			continue
		}
		if err := one.to(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
