package inventory

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

var everything = Scope{All: true}

func node(name, version string) Item {
	return Item{Key: Key{Kind: KindNode, Name: name}, Node: &Node{KubeletVersion: version, Ready: "True"}}
}

// intervals are all rows of nodes, as "NAME VERSION FROM-TO" in minutes since start.
func intervals(t *testing.T, s *Store) []string {
	t.Helper()
	minute := func(micros int64) string {
		if micros == open {
			return ""
		}
		return fmt.Sprint(database.FromTime(micros).Sub(start).Minutes())
	}
	var out []string
	rows, err := s.db.QueryContext(t.Context(), `SELECT r.name, ct.body, r.valid_from, r.valid_to FROM inventory_rows r
		JOIN inventory_contents ct ON ct.id = r.content ORDER BY r.name, r.valid_from`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, body string
		var from, to int64
		if err := rows.Scan(&name, &body, &from, &to); err != nil {
			t.Fatal(err)
		}
		item, err := itemOf(Key{Kind: KindNode, Name: name}, body, Image{}, "")
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s %s-%s", name, item.Node.KubeletVersion, minute(from), minute(to)))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestIntervals: what is applied, as the rows that there are after it. Everything is applied twice, and the second time changes nothing.
func TestIntervals(t *testing.T) {
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	key := func(name string) Key { return Key{Kind: KindNode, Name: name} }
	whole := []Kind{KindNode}
	first := Changes{At: at(0), Set: []Item{node("a", "1"), node("b", "1")}}
	cases := map[string]struct {
		changes []Changes
		want    []string
	}{
		"First":     {[]Changes{first}, []string{"a 1 0-", "b 1 0-"}},
		"Equal":     {[]Changes{first, {At: at(1), Set: []Item{node("a", "1")}}}, []string{"a 1 0-", "b 1 0-"}},
		"Changed":   {[]Changes{first, {At: at(1), Set: []Item{node("a", "2")}}}, []string{"a 1 0-1", "a 2 1-", "b 1 0-"}},
		"Gone":      {[]Changes{first, {At: at(1), Gone: []Key{key("a"), key("none")}}}, []string{"a 1 0-1", "b 1 0-"}},
		"Back":      {[]Changes{first, {At: at(1), Gone: []Key{key("a")}}, {At: at(2), Set: []Item{node("a", "1")}}}, []string{"a 1 0-1", "a 1 2-", "b 1 0-"}},
		"Whole":     {[]Changes{first, {At: at(1), Whole: whole, Set: []Item{node("b", "1"), node("c", "1")}}}, []string{"a 1 0-1", "b 1 0-", "c 1 1-"}},
		"Emptied":   {[]Changes{first, {At: at(1), Whole: whole}}, []string{"a 1 0-1", "b 1 0-1"}},
		"OtherKind": {[]Changes{first, {At: at(1), Whole: []Kind{KindVolume}}}, []string{"a 1 0-", "b 1 0-"}},
		"SameTime":  {[]Changes{first, {At: at(0), Set: []Item{node("a", "2")}}}, []string{"a 2 0-", "b 1 0-"}},
		"Earlier":   {[]Changes{first, {At: at(5), Set: []Item{node("a", "2")}}, {At: at(3), Gone: []Key{key("b")}}}, []string{"a 1 0-5", "a 2 5-", "b 1 0-5"}},
		"SetWins":   {[]Changes{{At: at(0), Set: []Item{node("a", "1")}, Gone: []Key{key("a")}}}, []string{"a 1 0-"}},
		"LastWins":  {[]Changes{{At: at(0), Set: []Item{node("a", "1"), node("a", "2")}}}, []string{"a 2 0-"}},
		"Nothing":   {[]Changes{{At: at(0)}}, nil},
	}
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s := newStore(t, db)
		for _, name := range []string{
			"First", "Equal", "Changed", "Gone", "Back", "Whole", "Emptied", "OtherKind", "SameTime", "Earlier", "SetWins", "LastWins", "Nothing",
		} {
			t.Run(name, func(t *testing.T) {
				cluster := Cluster{UID: "uid", Organization: "o", Name: "c"}
				for _, changes := range cases[name].changes {
					for range 2 {
						if err := s.Apply(t.Context(), cluster, changes); err != nil {
							t.Fatal(err)
						}
					}
				}
				if diff := cmp.Diff(cases[name].want, intervals(t, s)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				empty(t, s)
			})
		}
	})
}

// empty removes everything as it is removed in an installation: the cluster leaves, and its history becomes old.
func empty(t *testing.T, s *Store) {
	t.Helper()
	states, err := s.Clusters(t.Context(), Filter{Scope: everything})
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		if err := s.End(t.Context(), state.UID, start); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Prune(t.Context(), start.AddDate(1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"clusters", "labels", "kinds", "contents", "texts", "images", "binaries", "rows", "seen"} {
		var rows int
		if err := s.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM inventory_`+table).Scan(&rows); err != nil || rows != 0 {
			t.Errorf("%d rows are left in inventory_%s, %v", rows, table, err)
		}
	}
}

// TestPrune: what ended before is removed, and what is answered about later does not change.
func TestPrune(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s := newStore(t, db)
		cluster := Cluster{UID: "uid", Organization: "o", Name: "c"}
		container := func(tag string) Item {
			return Item{Key: Key{Kind: KindContainer, Namespace: "n", Name: "p"}, Container: &Container{Node: "on-" + tag, Image: Image{Reference: "r:" + tag, Repository: "r", Tag: tag}}}
		}
		for n, tag := range []string{"1", "2", "3"} {
			if err := s.Apply(t.Context(), cluster, Changes{At: start.AddDate(0, n, 0), Set: []Item{container(tag)}}); err != nil {
				t.Fatal(err)
			}
		}
		before := start.AddDate(0, 1, 1)
		if err := s.Prune(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		for at, want := range map[time.Time]string{start: "[]", before: "[2]", {}: "[3]"} {
			page, err := s.Images(t.Context(), Filter{Scope: everything, At: at})
			tags := []string{}
			for _, row := range page.Rows {
				tags = append(tags, row.Image.Tag)
			}
			if err != nil || fmt.Sprint(tags) != want {
				t.Errorf("at %s: got %v, %v, want %s", at, tags, err, want)
			}
		}
		var tags, nodes string
		row := db.QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM inventory_images), (SELECT COUNT(*) FROM inventory_texts)`)
		if err := row.Scan(&tags, &nodes); err != nil || tags != "2" || nodes != "2" {
			t.Errorf("%s images and %s nodes are kept, %v, want 2 of each", tags, nodes, err)
		}
		empty(t, s)
	})
}

// TestStates: how well clusters are known.
func TestStates(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		now := start
		s := newStore(t, db)
		s.now = func() time.Time { return now }
		s.limits.items = 2
		cluster := Cluster{UID: "uid", Organization: "o", Name: "c"}
		want := func(what string, want ClusterState) {
			t.Helper()
			got, err := s.Clusters(t.Context(), Filter{Scope: everything})
			if err != nil || cmp.Diff([]ClusterState{want}, got) != "" {
				t.Errorf("%s: %v, -want +got:\n%s", what, err, cmp.Diff([]ClusterState{want}, got))
			}
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(s.Know(t.Context(), []Cluster{cluster}))
		must(s.Confirm(t.Context(), now, []string{"uid"}))
		want("nothing was observed", ClusterState{Cluster: cluster})
		must(s.Apply(t.Context(), cluster, Changes{At: now, Set: []Item{node("a", "1")}}))
		want("observed", ClusterState{Cluster: cluster, Since: start, AsOf: start})
		must(s.Confirm(t.Context(), now, []string{"uid"}))
		want("watched", ClusterState{Cluster: cluster, Since: start, AsOf: start, Live: true})
		now = now.Add(time.Minute)
		must(s.Confirm(t.Context(), now, []string{"uid"}))
		must(s.Confirm(t.Context(), start, []string{"uid"}))
		want("confirmed", ClusterState{Cluster: cluster, Since: start, AsOf: now, Live: true})
		must(s.Apply(t.Context(), cluster, Changes{At: now, Set: []Item{node("b", "1"), node("c", "1")}}))
		const tooMany = "there are more items than are kept, 2 of a kind or 1024 MiB: Node"
		want("too many", ClusterState{Cluster: cluster, Since: start, AsOf: now, Live: true, Message: tooMany})
		must(s.Apply(t.Context(), cluster, Changes{At: now, Whole: []Kind{KindNode}, Set: []Item{node("a", "1"), node("b", "1")}}))
		want("not too many any more", ClusterState{Cluster: cluster, Since: start, AsOf: now, Live: true})
		must(s.Lost(t.Context(), "uid", "it does not answer"))
		want("lost", ClusterState{Cluster: cluster, Since: start, AsOf: now, Message: "it does not answer"})
		must(s.Confirm(t.Context(), now, []string{"uid"}))
		asOf := now
		now = now.Add(time.Hour)
		want("KQueen did not run", ClusterState{Cluster: cluster, Since: start, AsOf: asOf, Message: "it was not confirmed since then that it is watched"})
		cluster.Organization, cluster.Labels = "other", map[string]string{"a": "b"}
		must(s.Know(t.Context(), []Cluster{cluster}))
		must(s.Confirm(t.Context(), now, []string{"uid"}))
		want("moved, and a part of it is not seen", ClusterState{Cluster: cluster, Since: start, AsOf: now, Live: true, Message: "it does not answer"})
		must(s.Lost(t.Context(), "uid", ""))
		must(s.Confirm(t.Context(), now, []string{"uid"}))
		want("all of it is seen", ClusterState{Cluster: cluster, Since: start, AsOf: now, Live: true})
		must(s.End(t.Context(), "uid", now))
		if got, err := s.Clusters(t.Context(), Filter{Scope: everything}); err != nil || len(got) > 0 {
			t.Errorf("ended: got %v, %v", got, err)
		}
		if got, err := s.Clusters(t.Context(), Filter{Scope: everything, At: start}); err != nil || len(got) != 1 || !got[0].Ended.Equal(now) {
			t.Errorf("ended, as of before: got %v, %v", got, err)
		}
		if err := s.Apply(t.Context(), cluster, Changes{At: now}); !isInvalid(err) {
			t.Errorf("a cluster that left is observed: %v", err)
		}
	})
}

// TestHostile: what a cluster can send is bounded, kept as what the databases take, and does not keep the next from being kept.
func TestHostile(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s := newStore(t, db)
		s.limits.items = 500
		huge, bad := strings.Repeat("x", 1<<20), "a\x00b\xff\u202e'; DROP TABLE inventory_rows; --"
		labels := map[string]string{huge: huge, bad: bad}
		list := slices.Repeat([]string{huge, bad}, 1000)
		items := []Item{
			{Key: Key{Kind: KindNode, Namespace: huge, Name: huge, Part: huge, UID: huge}, Node: &Node{
				KubeletVersion: huge, Ready: bad, Message: huge, Labels: labels, Pressure: list,
			}},
			{Key: Key{Kind: KindContainer, Name: bad, UID: bad}, Container: &Container{Node: bad, Phase: bad, Image: Image{Reference: bad, Repository: bad, Tag: bad, Digest: huge}}},
			{Key: Key{Kind: KindContainer, Name: huge}, Container: &Container{Node: huge, Image: Image{Reference: huge, Repository: huge, Tag: huge, Digest: huge}}},
			{Key: Key{Kind: KindComponent, Name: bad, Part: bad}, Component: &Component{Version: bad, Image: huge}},
			{Key: Key{Kind: KindIngress, Name: bad}, Ingress: &Ingress{Hosts: list, Services: list, Secrets: list}},
			{Key: Key{Kind: KindService, Name: bad}, Service: &Service{Selector: labels, Ports: list, Addresses: list}},
			{Key: Key{Kind: KindWorkload, Name: bad}, Workload: &Workload{Labels: labels, Selector: labels}},
			{Key: Key{Kind: KindNamespace, Name: bad}, Namespace: &Namespace{Labels: labels}},
			{Key: Key{Kind: KindVolume, Name: bad}, Volume: &Volume{Phase: huge}},
			{Key: Key{Kind: KindCertificate, Name: bad}, Certificate: &Certificate{Subject: huge, DNSNames: list, NotAfter: time.Date(99999, 1, 1, 0, 0, 0, 0, time.UTC)}},
			{Key: Key{Kind: KindWarning, Name: bad}, Warning: &Warning{Message: bad, LastSeen: time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)}},
			{Key: Key{Kind: KindAPI, Name: bad}, API: &API{RemovedIn: huge}},
		}
		same := &Volume{}
		for n := range 1_000_000 {
			items = append(items, Item{Key: Key{Kind: KindVolume, Name: fmt.Sprint(n)}, Volume: same})
		}
		cluster := Cluster{UID: "uid", Organization: "o", Name: huge, Labels: labels}
		for range 2 {
			if err := s.Apply(t.Context(), cluster, Changes{At: start, Set: items, Whole: []Kind{KindVolume}}); err != nil {
				t.Fatal(err)
			}
		}
		var rows, longest int
		row := db.QueryRowContext(t.Context(), `SELECT COUNT(*), (SELECT MAX(LENGTH(body)) FROM inventory_contents) FROM inventory_rows`)
		if err := row.Scan(&rows, &longest); err != nil || rows != 500+11 || longest > 64<<10 {
			t.Errorf("%d rows, the longest content has %d letters, %v", rows, longest, err)
		}
		for kind := range numbers {
			if got, err := s.Items(t.Context(), kind, Filter{Scope: everything}); err != nil || len(got.Rows) == 0 {
				t.Errorf("%s: %v", kind, err)
			}
		}
		state, err := s.Clusters(t.Context(), Filter{Scope: everything})
		if err != nil || len(state) != 1 || !strings.Contains(state[0].Message, "Volume") {
			t.Errorf("got %+v, %v", state, err)
		}
		if page, err := s.Findings(t.Context(), Filter{Scope: everything}); err != nil || len(page.Rows) == 0 {
			t.Errorf("findings: %+v, %v", page, err)
		}
	})
}

// TestWrong: what cannot be applied or asked says which field is wrong, and no database is asked.
func TestWrong(t *testing.T) {
	s := newStore(t, databasetest.Open(t, databasetest.SQLite(t)))
	cluster := Cluster{UID: "uid"}
	filter := func(f Filter) func() error {
		return func() error {
			f.Scope = everything
			_, err := s.Images(t.Context(), f)
			return err
		}
	}
	apply := func(c Cluster, changes Changes) func() error {
		return func() error { return s.Apply(t.Context(), c, changes) }
	}
	cases := map[string]struct {
		act  func() error
		want string
	}{
		"UID":         {apply(Cluster{}, Changes{At: start}), "cluster.uid:"},
		"At":          {apply(cluster, Changes{}), "at:"},
		"Kind":        {apply(cluster, Changes{At: start, Set: []Item{{Key: Key{Kind: "Other"}}}}), "key.kind:"},
		"WholeKind":   {apply(cluster, Changes{At: start, Whole: []Kind{"Other"}}), "whole:"},
		"Field":       {apply(cluster, Changes{At: start, Set: []Item{{Key: Key{Kind: KindNode}, API: &API{}}}}), "item:"},
		"Limit":       {filter(Filter{Limit: 1001}), "limit:"},
		"NoLimit":     {filter(Filter{Limit: -1}), "limit:"},
		"Cursor":      {filter(Filter{Cursor: "x"}), "cursor:"},
		"OtherCursor": {filter(Filter{Cursor: encodeCursor(make([]byte, 12), []string{"", "", ""})}), "cursor:"},
		"Text":        {filter(Filter{Text: "a\x00"}), "text:"},
		"Repository":  {filter(Filter{Repository: "\xff"}), "repository:"},
		"Digests":     {filter(Filter{Digests: make([]string, 1001)}), "digests:"},
		"Version":     {filter(Filter{Version: "about 1"}), "version:"},
		"Year":        {filter(Filter{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}), "at:"},
		"Order": {func() error {
			_, err := s.ImagesBetween(t.Context(), Filter{Scope: everything}, start.Add(1), start)
			return err
		}, "to:"},
		"Items": {func() error { _, err := s.Items(t.Context(), "Other", Filter{Scope: everything}); return err }, "kind:"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if err := c.act(); !isInvalid(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error of %s", err, c.want)
			}
		})
	}
}

// TestVersions: constraints are about versions as upstream names them, whatever vendors add.
func TestVersions(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s := newStore(t, db)
		var items []Item
		for n, version := range []string{"v1.33.4-gke.12", "v1.34.0-rc.1", "v1.34.0-eks-abc", "1.35", "unknown", ""} {
			items = append(items, Item{Key: Key{Kind: KindComponent, Name: fmt.Sprint(n), Part: "kubelet"}, Component: &Component{Version: version}})
		}
		if err := s.Apply(t.Context(), Cluster{UID: "uid"}, Changes{At: start, Set: items}); err != nil {
			t.Fatal(err)
		}
		cases := map[string][]string{
			"<1.34": {"v1.33.4-gke.12", "v1.34.0-rc.1"}, ">=1.34": {"1.35", "v1.34.0-eks-abc"}, "": {"", "1.35", "unknown", "v1.33.4-gke.12", "v1.34.0-eks-abc", "v1.34.0-rc.1"},
			"<1": nil, "~1.33": {"v1.33.4-gke.12"},
		}
		for constraint, want := range cases {
			f := Filter{Scope: everything, Version: constraint}
			var got, places []string
			for _, row := range all(t, f, func(f Filter) (Page[BinaryRow], error) { return s.Binaries(t.Context(), f) }) {
				got = append(got, row.Version)
			}
			for _, row := range all(t, f, func(f Filter) (Page[ItemRow], error) { return s.BinaryPlaces(t.Context(), f) }) {
				places = append(places, row.Item.Component.Version)
			}
			slices.Sort(places)
			if cmp.Diff(want, got) != "" || cmp.Diff(want, places) != "" {
				t.Errorf("%q: got %q and %q, want %q", constraint, got, places, want)
			}
		}
	})
}

// TestPatterns: what LIKE would read as its own is found as it is, and letters of both sizes are equal.
func TestPatterns(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s := newStore(t, db)
		var items []Item
		for n, repository := range []string{"r/a_b", "r/axb", `r/a\b`, "r/a%b", "r/azzb", "R/A_B/c"} {
			items = append(items, Item{Key: Key{Kind: KindContainer, Name: fmt.Sprint(n)}, Container: &Container{Image: Image{Reference: repository + ":1", Repository: repository, Tag: "1"}}})
		}
		if err := s.Apply(t.Context(), Cluster{UID: "uid"}, Changes{At: start, Set: items}); err != nil {
			t.Fatal(err)
		}
		cases := map[string]struct {
			filter Filter
			want   string
		}{
			"Underscore": {Filter{Text: "a_b"}, `["R/A_B/c" "r/a_b"]`},
			"Percent":    {Filter{Text: "A%B"}, `["r/a%b"]`},
			"Backslash":  {Filter{Text: `a\b`}, `["r/a\\b"]`},
			"Star":       {Filter{Repository: "r/a*b"}, `["r/a%b" "r/a\\b" "r/a_b" "r/axb" "r/azzb"]`},
			"StarEnds":   {Filter{Repository: "r/a_b*"}, `["R/A_B/c" "r/a_b"]`},
			"Exact":      {Filter{Repository: "r/a_b"}, `["r/a_b"]`},
			"NoStar":     {Filter{Text: "a*b"}, `[]`},
		}
		for name, c := range cases {
			c.filter.Scope = everything
			page, err := s.Images(t.Context(), c.filter)
			got := []string{}
			for _, row := range page.Rows {
				got = append(got, row.Image.Repository)
			}
			if err != nil || fmt.Sprintf("%q", got) != c.want {
				t.Errorf("%s: got %q, %v, want %s", name, got, err, c.want)
			}
		}
	})
}

// TestManyAtOnce: many items are written in several transactions, of which a reader sees all or none, while others write.
func TestManyAtOnce(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s := newStore(t, db)
		s.limits.batch = 50
		list := func(version string) (items []Item) {
			for n := range 300 {
				items = append(items, node(fmt.Sprintf("n%03d", n), version))
			}
			return items
		}
		cluster := Cluster{UID: "uid", Organization: "o", Name: "c"}
		if err := s.Apply(t.Context(), cluster, Changes{At: start, Whole: []Kind{KindNode}, Set: list("0")}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			var err error
			for n := 1; n < 6 && err == nil; n++ {
				err = s.Apply(context.WithoutCancel(t.Context()), cluster, Changes{At: start.Add(time.Duration(n) * time.Minute), Whole: []Kind{KindNode}, Set: list(fmt.Sprint(n))})
			}
			ended <- err
		}()
		for done := false; !done; {
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
				done = true
			default:
			}
			page, err := s.Items(t.Context(), KindNode, Filter{Scope: everything, Limit: 1000})
			versions := map[string]bool{}
			for _, row := range page.Rows {
				versions[row.Item.Node.KubeletVersion] = true
			}
			if err != nil || len(page.Rows) != 300 || len(versions) != 1 {
				t.Fatalf("a reader sees %d rows of versions %v, %v", len(page.Rows), versions, err)
			}
			if done && !versions["5"] {
				t.Errorf("the last list is not there: %v", versions)
			}
		}
	})
}

// TestPruneAbandoned: what a crash left of changes goes with the next Prune, and what was known before it stays.
func TestPruneAbandoned(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s := newStore(t, db)
		s.limits.batch = 1
		cluster := Cluster{UID: "uid", Organization: "o", Name: "c"}
		if err := s.Apply(t.Context(), cluster, Changes{At: start, Set: []Item{node("a", "1"), node("b", "1")}}); err != nil {
			t.Fatal(err)
		}
		want, dropped, err := Changes{Set: []Item{node("a", "2"), node("b", "2"), node("c", "2")}}.fit(100)
		if err != nil {
			t.Fatal(err)
		}
		left := writing{want: want, dropped: dropped, at: database.Time(start.Add(time.Hour)), limits: s.limits}
		steps := []func(context.Context, *sql.Tx) error{
			func(ctx context.Context, tx *sql.Tx) error { return left.begin(ctx, tx, cluster) }, left.next, left.next, left.next,
		}
		for _, step := range steps {
			if err := db.Do(t.Context(), lock, func(tx *sql.Tx) error { return step(t.Context(), tx) }); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Prune(t.Context(), start); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a 1 0-", "b 1 0-"}, intervals(t, s)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func FuzzCursor(f *testing.F) {
	q := []byte("question-123")
	f.Add(encodeCursor(q, []string{"a", "b\u00e9", ""}))
	f.Add("")
	f.Add("e30")
	f.Fuzz(func(t *testing.T, cursor string) {
		position, err := decodeCursor(q, cursor, 3)
		switch {
		case err != nil && !isInvalid(err):
			t.Errorf("got %v", err)
		case err == nil && cursor != "":
			again, err := decodeCursor(q, encodeCursor(q, position), 3)
			if err != nil || !slices.Equal(position, again) || strings.Contains(strings.Join(position, ""), "\x00") {
				t.Errorf("%q: got %q and then %q, %v", cursor, position, again, err)
			}
		}
	})
}
