package audit

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// all returns the sequences of all pages.
func all(t *testing.T, l *Log, f Filter) []int64 {
	t.Helper()
	var out []int64
	for {
		page, err := l.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if f.Limit != 0 && len(page.Records) > f.Limit {
			t.Errorf("a page of %d records; its limit is %d", len(page.Records), f.Limit)
		}
		for _, r := range page.Records {
			out = append(out, r.Sequence)
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return out
		}
	}
}

// TestList: each filter, by pages of each size, in both orders, gives what going through all records gives.
func TestList(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		l.now = func() time.Time { clock = clock.Add(time.Minute); return clock }
		records := fill(t, l, 24)
		middle := records[11]
		filters := map[string]struct {
			filter Filter
			has    func(Record) bool
		}{
			"All":          {Filter{AllOrganizations: true}, func(Record) bool { return true }},
			"Organization": {Filter{Organization: "acme"}, func(r Record) bool { return r.Organization == "acme" }},
			"Nobody":       {Filter{Organization: "initech"}, func(Record) bool { return false }},
			"NoPattern":    {Filter{Organization: "%"}, func(Record) bool { return false }},
			"Actor":        {Filter{AllOrganizations: true, Actor: "user-1"}, func(r Record) bool { return r.Actor.Name == "user-1" }},
			"ActorKind":    {Filter{AllOrganizations: true, ActorKind: System}, func(Record) bool { return false }},
			"Action":       {Filter{AllOrganizations: true, Action: "delete"}, func(r Record) bool { return r.Action == "delete" }},
			"Object": {
				Filter{AllOrganizations: true, ObjectKind: "Cluster", ObjectName: "c3", ObjectUID: records[2].Object.UID},
				func(r Record) bool { return r.Object.Name == "c3" },
			},
			"Outcome": {Filter{AllOrganizations: true, Outcome: Denied}, func(r Record) bool { return r.Outcome == Denied }},
			"Since":   {Filter{AllOrganizations: true, Since: middle.Time}, func(r Record) bool { return r.Sequence >= middle.Sequence }},
			"Until":   {Filter{AllOrganizations: true, Until: middle.Time}, func(r Record) bool { return r.Sequence < middle.Sequence }},
			"Together": {
				Filter{Organization: "acme", Action: "create", Since: records[3].Time},
				func(r Record) bool { return r.Organization == "acme" && r.Action == "create" && r.Sequence >= 4 },
			},
		}
		for name, tc := range filters {
			var want []int64
			for _, r := range records {
				if tc.has(r) {
					want = append(want, r.Sequence)
				}
			}
			for _, limit := range []int{0, 1, 5, 24} {
				f := tc.filter
				f.Limit, f.OldestFirst = limit, true
				if diff := cmp.Diff(want, all(t, l, f)); diff != "" {
					t.Errorf("%s by %d, oldest first, -want +got:\n%s", name, limit, diff)
				}
				f.OldestFirst = false
				got := all(t, l, f)
				slices.Reverse(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s by %d, newest first, -want +got:\n%s", name, limit, diff)
				}
			}
		}
	})
}

// TestListWhileAppending: what is appended meanwhile comes neither twice nor in between.
func TestListWhileAppending(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		fill(t, l, 4)
		f := Filter{AllOrganizations: true, Limit: 2}
		page, err := l.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, l, 3)
		f.Cursor = page.Next
		if diff := cmp.Diff([]int64{2, 1}, all(t, l, f)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestListTampered: a list does not show a forged record as one that was written.
func TestListTampered(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		fill(t, l, 4)
		dropTriggers(t, db)
		run(t, db, `UPDATE audit_records SET outcome = 'succeeded' WHERE sequence = 2`, copyOf(3, 7))
		page, err := l.List(t.Context(), Filter{AllOrganizations: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Problem{{7, 7, Changed}, {2, 2, Changed}}, page.Problems); diff != "" || len(page.Records) != 5 {
			t.Errorf("%d records; -want +got:\n%s", len(page.Records), diff)
		}
	})
}

// TestListRefuses: a filter that is not one, and a cursor for anything but its own filter.
func TestListRefuses(t *testing.T) {
	l := open(t, databasetest.Open(t, databasetest.SQLite(t)))
	fill(t, l, 12)
	made := Filter{Organization: "acme", Limit: 1}
	page, err := l.List(t.Context(), made)
	if err != nil || page.Next == "" {
		t.Fatal(page, err)
	}
	changed := func(change func(*Filter)) Filter {
		f := made
		f.Cursor = page.Next
		change(&f)
		return f
	}
	now := time.Now()
	cases := map[string]struct {
		filter Filter
		field  string
	}{
		"Nothing":       {Filter{}, "organization"},
		"NoScope":       {Filter{Actor: "user-1"}, "organization"},
		"BothScopes":    {Filter{Organization: "acme", AllOrganizations: true}, "organization"},
		"Negative":      {Filter{Organization: "acme", Limit: -1}, "limit"},
		"TooMany":       {Filter{Organization: "acme", Limit: MaxLimit + 1}, "limit"},
		"Foreign":       {changed(func(f *Filter) { f.Organization = "globex" }), "cursor"},
		"All":           {changed(func(f *Filter) { f.Organization, f.AllOrganizations = "", true }), "cursor"},
		"OtherOrder":    {changed(func(f *Filter) { f.OldestFirst = true }), "cursor"},
		"OtherActor":    {changed(func(f *Filter) { f.Actor = "user-0" }), "cursor"},
		"OtherKind":     {changed(func(f *Filter) { f.ActorKind = User }), "cursor"},
		"OtherAction":   {changed(func(f *Filter) { f.Action = "create" }), "cursor"},
		"OtherObject":   {changed(func(f *Filter) { f.ObjectKind = "Cluster" }), "cursor"},
		"OtherName":     {changed(func(f *Filter) { f.ObjectName = "c3" }), "cursor"},
		"OtherUID":      {changed(func(f *Filter) { f.ObjectUID = "u" }), "cursor"},
		"OtherOutcome":  {changed(func(f *Filter) { f.Outcome = Denied }), "cursor"},
		"OtherSince":    {changed(func(f *Filter) { f.Since = now }), "cursor"},
		"OtherUntil":    {changed(func(f *Filter) { f.Until = now }), "cursor"},
		"NoBase64":      {changed(func(f *Filter) { f.Cursor = "!" }), "cursor"},
		"Short":         {changed(func(f *Filter) { f.Cursor = "AAAA" }), "cursor"},
		"Unsigned":      {changed(func(f *Filter) { f.Cursor = base64.RawURLEncoding.EncodeToString(make([]byte, 40)) }), "cursor"},
		"OtherSequence": {changed(func(f *Filter) { f.Cursor = "AAAAAAAAAAM" + f.Cursor[11:] }), "cursor"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := l.List(t.Context(), tc.filter)
			problem, ok := errors.AsType[*invalid.Error](err)
			if !ok || problem.Field != tc.field || len(got.Records) > 0 {
				t.Errorf("got %v, %v; want what is wrong with %s", got, err, tc.field)
			}
		})
	}
	f := changed(func(f *Filter) { f.Limit = 3 })
	if got := all(t, l, f); !slices.Equal(got, []int64{9, 6, 3}) && !slices.Equal(got, []int64{6, 3}) {
		t.Errorf("another limit: %v", got)
	}
}

// TestListCursorBits: no cursor but the one that was made is taken, whichever bit is another one.
func TestListCursorBits(t *testing.T) {
	l := open(t, databasetest.Open(t, databasetest.SQLite(t)))
	f := Filter{Organization: "acme"}
	raw, err := base64.RawURLEncoding.DecodeString(l.cursor(f, rand.Int64()))
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(raw) * 8 {
		changed := slices.Clone(raw)
		changed[bit/8] ^= 1 << (bit % 8)
		f.Cursor = base64.RawURLEncoding.EncodeToString(changed)
		if _, _, err := l.place(f); err == nil {
			t.Errorf("bit %d was changed and the cursor taken", bit)
		}
	}
}
