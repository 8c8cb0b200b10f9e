package inventory

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

func TestMain(m *testing.M) { os.Exit(databasetest.Run(m)) }

// start is when tests begin to observe.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newStore(t testing.TB, db *database.DB) *Store {
	t.Helper()
	s := New(db, func() time.Time { return start.AddDate(1, 0, 0) })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func describe(uid string, item Item) string {
	raw, err := json.Marshal(item)
	return fmt.Sprint(uid, " ", string(raw), err)
}

// TestTruth applies the same random changes to the store and to a model of it, with whole lists after gaps, changes that are applied
// twice, crashes between the transactions of one Apply, and clusters that leave; and compares what both say, now and of the past.
func TestTruth(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		s := newStore(t, db)
		s.limits.batch = 7
		w := &world{t: t, store: s, rand: rand.New(rand.NewPCG(seed, 1)), model: &model{}, now: start}
		for n := range 7 {
			c := &modelCluster{Cluster: Cluster{
				UID: fmt.Sprintf("uid-%d", n), Organization: fmt.Sprintf("org-%d", n%3), Name: fmt.Sprintf("c-%d", n/2),
				Labels: map[string]string{"stage": []string{"test", "production"}[n%2]},
			}}
			w.model.clusters = append(w.model.clusters, c)
		}
		for step := range 60 {
			w.step()
			if step%10 == 9 {
				w.compareAll()
			}
		}
		w.migrateCounts(db)
		t.Logf("%d crashes left a part of changes", w.crashes)
	})
}

// world is a fleet that changes.
type world struct {
	t     *testing.T
	store *Store
	rand  *rand.Rand
	model *model
	now   time.Time
	// times are those at which something changed.
	times []time.Time
	// crashes counts those that left a part.
	crashes int
}

// migrateCounts counts as the migration of a store from before did, perhaps in the middle of changes, and goes on.
func (w *world) migrateCounts(db *database.DB) {
	w.t.Helper()
	text, err := migrations.ReadFile("migrations/sqlite/004_counts.sql")
	w.must(err)
	_, text, _ = bytes.Cut(text, []byte("UPDATE "))
	update, _, _ := bytes.Cut(text, []byte(";"))
	w.must(db.Do(w.t.Context(), lock, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(w.t.Context(), `UPDATE inventory_seen SET items = 0`)
		if err == nil {
			_, err = tx.ExecContext(w.t.Context(), "UPDATE "+string(update))
		}
		return err
	}))
	w.compareAll()
	for range 10 {
		w.step()
	}
	w.compareAll()
}

func (w *world) step() {
	w.t.Helper()
	// Intervals of all lengths, from nothing to months.
	w.now = w.now.Add(time.Duration(w.rand.IntN(1<<w.rand.IntN(20))) * time.Second / 4)
	w.times = append(w.times, w.now)
	c := w.model.clusters[w.rand.IntN(len(w.model.clusters))]
	if !c.ended.IsZero() {
		return
	}
	changes := w.changes(c)
	switch w.rand.IntN(10) {
	case 0, 9:
		w.crash(c, changes)
		return
	case 1:
		if w.rand.IntN(4) == 0 {
			w.must(w.store.End(w.t.Context(), c.UID, w.now))
			w.must(w.store.End(w.t.Context(), c.UID, w.now.Add(time.Hour)))
			c.end(w.now)
			return
		}
	case 2:
		if len(c.states) > 0 {
			w.must(w.store.Confirm(w.t.Context(), w.now, []string{c.UID, "unknown"}))
			var pending int64
			w.must(w.store.db.QueryRowContext(w.t.Context(), `SELECT pending FROM inventory_clusters WHERE uid = $1`, c.UID).Scan(&pending))
			if pending == 0 { // a crash may have left a part of changes
				c.asOf = w.now
			}
			return
		}
	case 3:
		changes.At = changes.At.Add(-time.Hour) // a clock that was set back
	}
	w.must(w.store.Apply(w.t.Context(), c.Cluster, changes))
	c.apply(w.known(c, changes))
	w.must(w.store.Apply(w.t.Context(), c.Cluster, changes))
}

// known is when the store says that changes were made: many of them only behind what is known.
func (w *world) known(c *modelCluster, changes Changes) Changes {
	if !changes.At.After(c.asOf) {
		var asOf int64
		if err := w.store.db.QueryRowContext(w.t.Context(), `SELECT as_of FROM inventory_clusters WHERE uid = $1`, c.UID).Scan(&asOf); err != nil {
			w.t.Fatal(err)
		}
		if at := database.FromTime(asOf); at.Sub(c.asOf) <= time.Microsecond && at.After(changes.At) {
			changes.At = at
		}
	}
	return changes
}

// crash lets an Apply end between two of its transactions, at any of them.
func (w *world) crash(c *modelCluster, changes Changes) {
	w.t.Helper()
	changes.Whole, changes.Gone = []Kind{KindContainer, KindComponent, KindNode}, nil
	for range 40 {
		changes.Set = append(changes.Set, w.item())
	}
	fitted, dropped, err := changes.fit(w.store.limits.items)
	w.must(err)
	writing := writing{want: fitted, at: database.Time(changes.At), limits: w.store.limits, dropped: dropped}
	w.must(w.store.takeBack(w.t.Context(), c.UID))
	w.must(w.store.db.Do(w.t.Context(), lock, func(tx *sql.Tx) error { return writing.begin(w.t.Context(), tx, c.Cluster) }))
	for n := w.rand.IntN(5); n > 0 && !writing.done; n-- {
		w.must(w.store.db.Do(w.t.Context(), lock, func(tx *sql.Tx) error { return writing.next(w.t.Context(), tx) }))
	}
	if writing.done {
		c.apply(w.known(c, changes))
		return
	}
	w.crashes++
	w.compare(Filter{Scope: Scope{All: true}}) // nothing of it is seen
	w.must(w.store.Confirm(w.t.Context(), w.now.Add(time.Second), []string{c.UID}))
	w.compare(Filter{Scope: Scope{All: true}})
	if err := w.store.db.Do(w.t.Context(), lock, func(tx *sql.Tx) error {
		cancelled, cancel := context.WithCancel(w.t.Context())
		cancel()
		return writing.next(cancelled, tx)
	}); !errors.Is(err, context.Canceled) {
		w.t.Errorf("a cancelled transaction: %v", err)
	}
	if w.rand.IntN(2) == 0 {
		w.must(w.store.takeBack(w.t.Context(), c.UID))
		if err := w.store.db.Do(w.t.Context(), lock, func(tx *sql.Tx) error { return writing.next(w.t.Context(), tx) }); !errors.Is(err, errOvertaken) {
			w.t.Errorf("one that was taken back goes on: %v", err)
		}
	}
}

// changes are random ones: those of a watch, or a whole list.
func (w *world) changes(c *modelCluster) Changes {
	out := Changes{At: w.now}
	have := map[Key]Item{}
	if len(c.states) > 0 {
		have = c.states[len(c.states)-1].items
	}
	if len(c.states) == 0 || w.rand.IntN(4) == 0 {
		out.Whole = []Kind{KindContainer, KindComponent, KindNode}
		for range w.rand.IntN(30) {
			out.Set = append(out.Set, w.item())
		}
	} else {
		for range w.rand.IntN(6) {
			out.Set = append(out.Set, w.item())
		}
		for _, key := range slices.SortedFunc(maps.Keys(have), compareKeys) {
			if w.rand.IntN(6) == 0 {
				out.Gone = append(out.Gone, key)
			}
		}
	}
	// A key stands once: of several the last one counts, and what is set is not gone.
	byKey := map[Key]Item{}
	for _, item := range out.Set {
		byKey[item.Key] = item
	}
	out.Set = nil
	for _, key := range slices.SortedFunc(maps.Keys(byKey), compareKeys) {
		out.Set = append(out.Set, byKey[key])
	}
	out.Gone = slices.DeleteFunc(out.Gone, func(key Key) bool { _, set := byKey[key]; return set })
	return out
}

func (w *world) item() Item {
	n := w.rand.IntN
	switch n(5) {
	case 0:
		return Item{
			Key:       Key{Kind: KindComponent, Name: []string{"", "n1", "n2"}[n(3)], Part: []string{"kubelet", "etcd", "kube-apiserver"}[n(3)]},
			Component: &Component{Version: fmt.Sprintf("v1.%d.%d", 33+n(3), n(2)), Managed: n(8) == 0},
		}
	case 1:
		return Item{
			Key:  Key{Kind: KindNode, Name: fmt.Sprintf("n%d", n(4))},
			Node: &Node{KubeletVersion: fmt.Sprintf("v1.%d.0", 33+n(3)), Ready: "True", Labels: map[string]string{"a": fmt.Sprint(n(2))}},
		}
	default:
		repository := fmt.Sprintf("registry.example/app-%d", n(4))
		tag := fmt.Sprintf("%d", n(3))
		return Item{
			Key: Key{
				Kind: KindContainer, Namespace: fmt.Sprintf("ns-%d", n(3)), Name: fmt.Sprintf("pod-%d", n(6)), Part: fmt.Sprintf("c%d", n(2)),
				UID: fmt.Sprint(n(2)),
			},
			Container: &Container{
				Type: TypeApp, WorkloadKind: "Deployment", WorkloadName: "web", Node: fmt.Sprintf("n%d", n(3)), Phase: []string{"Pending", "Running"}[n(2)],
				Image: Image{Reference: repository + ":" + tag, Repository: repository, Tag: tag, Digest: []string{"", "sha256:1", "sha256:2"}[n(3)]},
			},
		}
	}
}

// compareAll compares now, at times in the past and on both sides of them, and between pairs, with filters of all sorts.
func (w *world) compareAll() {
	w.t.Helper()
	charged(w.t, w.store.db)
	filters := []Filter{
		{}, {Clusters: []string{"c-1"}}, {Organizations: []string{"org-1", "org-2"}}, {ClusterLabels: map[string]string{"stage": "test"}},
		{Namespaces: []string{"ns-1"}}, {Repository: "registry.example/app-1"}, {Text: "app-2"}, {Text: ":1"}, {Tag: "2"}, {Digests: []string{"sha256:1", ""}},
		{Components: []string{"kubelet"}},
	}
	for _, f := range filters {
		w.store.limits.narrow, w.store.limits.chosen, w.store.limits.few = 20*w.rand.IntN(2), 250*w.rand.IntN(2), 64*w.rand.IntN(2)
		f.Scope, f.Limit = w.scope(), 1+w.rand.IntN(20)
		w.compare(f)
		for range 4 {
			f.At = w.time()
			w.compare(f)
		}
		from, to := w.time(), w.time()
		if to.Before(from) {
			from, to = to, from
		}
		w.compareBetween(f, from, to)
	}
}

// scope is everything, or some of the organizations; the model reads those alone.
func (w *world) scope() Scope {
	if w.rand.IntN(2) == 0 {
		return Scope{All: true}
	}
	return Scope{Organizations: slices.DeleteFunc([]string{"org-0", "org-1", "org-2", "org-9"}, func(string) bool { return w.rand.IntN(2) == 0 })}
}

func (w *world) time() time.Time {
	return w.times[w.rand.IntN(len(w.times))].Add(time.Duration(w.rand.IntN(3)-1) * time.Microsecond)
}

func (w *world) compare(f Filter) {
	w.t.Helper()
	ctx := w.t.Context()
	w.equal(f, "images", all(w.t, f, func(f Filter) (Page[ImageRow], error) { return w.store.Images(ctx, f) }), w.model.images(f))
	w.equal(f, "binaries", all(w.t, f, func(f Filter) (Page[BinaryRow], error) { return w.store.Binaries(ctx, f) }), w.model.binaries(f))
	for _, kind := range []Kind{KindContainer, KindComponent, KindNode} {
		var got []string
		for _, row := range all(w.t, f, func(f Filter) (Page[ItemRow], error) { return w.store.Items(ctx, kind, f) }) {
			got = append(got, describe(row.ClusterUID, row.Item))
		}
		w.equal(f, string(kind), got, w.model.find(f, kind))
	}
	var containers []string
	for _, row := range all(w.t, f, func(f Filter) (Page[ContainerRow], error) { return w.store.Containers(ctx, f) }) {
		containers = append(containers, describe(row.ClusterUID, Item{Key: row.Key, Container: &row.Container}))
	}
	w.equal(f, "containers", containers, w.model.find(f, KindContainer))
}

func (w *world) compareBetween(f Filter, from, to time.Time) {
	w.t.Helper()
	ctx := w.t.Context()
	before, after := f, f
	before.At, after.At = from, to
	w.equal(f, fmt.Sprint("images between ", from, to),
		all(w.t, f, func(f Filter) (Page[Change[ImageRow]], error) { return w.store.ImagesBetween(ctx, f, from, to) }),
		changesOf(w.model.images(before), w.model.images(after), images.key))
	w.equal(f, fmt.Sprint("binaries between ", from, to),
		all(w.t, f, func(f Filter) (Page[Change[BinaryRow]], error) { return w.store.BinariesBetween(ctx, f, from, to) }),
		changesOf(w.model.binaries(before), w.model.binaries(after), binaries.key))
}

// all reads all pages.
func all[T any](t *testing.T, f Filter, read func(Filter) (Page[T], error)) []T {
	t.Helper()
	var out []T
	for {
		page, err := read(f)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		if f.Limit > 0 && len(page.Rows) > f.Limit {
			t.Fatalf("%+v: a page of %d rows", f, len(page.Rows))
		}
		out = append(out, page.Rows...)
		if page.Next == "" {
			return out
		}
		f.Cursor = page.Next
	}
}

func (w *world) equal(f Filter, what string, got, want any) {
	w.t.Helper()
	if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got)); diff != "" {
		w.t.Fatalf("%s at %s with %+v: -want +got:\n%s", what, w.now, f, cmp.Diff(want, got))
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
