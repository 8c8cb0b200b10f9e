package audit

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

// outcomes are those in the log, oldest first.
func outcomes(t *testing.T, l *Log) []Outcome {
	t.Helper()
	page, err := l.List(t.Context(), Filter{AllOrganizations: true, OldestFirst: true})
	if err != nil {
		t.Fatal(err)
	}
	all := []Outcome{}
	for _, r := range page.Records {
		all = append(all, r.Outcome)
	}
	return all
}

func sweep(t *testing.T, l *Log) {
	t.Helper()
	if err := l.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAct: what was begun and ended is one record; what was begun and never ended becomes one, once, when no process can
// be at work on it any more.
func TestAct(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l, other := open(t, db), open(t, db)
		ended, err := l.Begin(t.Context(), sample(1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Begin(t.Context(), sample(2)); err != nil {
			t.Fatal(err)
		}
		if _, err := ended.End(t.Context(), sample(3)); err != nil {
			t.Fatal(err)
		}
		dropped, err := l.Begin(t.Context(), sample(4))
		if err != nil {
			t.Fatal(err)
		}
		if err := dropped.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		sweep(t, l)
		if diff := cmp.Diff([]Outcome{Succeeded}, outcomes(t, l)); diff != "" {
			t.Errorf("before anything was abandoned: %s", diff)
		}
		later := func() time.Time { return time.Now().Add(2 * abandonedAfter) }
		l.now, other.now = later, later
		sweep(t, l)
		sweep(t, other)
		page, err := l.List(t.Context(), Filter{AllOrganizations: true})
		if err != nil || len(page.Records) != 2 {
			t.Fatalf("%d records, %v; want 2", len(page.Records), err)
		}
		want := sample(2)
		want.Outcome = Unknown
		chained := cmpopts.IgnoreFields(Record{}, "Sequence", "Time", "Reason", "Previous", "Hash")
		if diff := cmp.Diff(want, page.Records[0], chained); diff != "" {
			t.Errorf("the abandoned action: %s", diff)
		}
		if !strings.HasPrefix(page.Records[0].Reason, "begun at ") {
			t.Errorf("its reason is %q", page.Records[0].Reason)
		}
		if report := verify(t, other, nil); !report.Sound() {
			t.Errorf("%+v", report)
		}
	})
}

// TestActLate: who ends an action after it was given up has it recorded twice, and not lost.
func TestActLate(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		act, err := l.Begin(t.Context(), sample(1))
		if err != nil {
			t.Fatal(err)
		}
		l.now = func() time.Time { return time.Now().Add(2 * abandonedAfter) }
		sweep(t, l)
		if _, err := act.End(t.Context(), sample(3)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Outcome{Unknown, Succeeded}, outcomes(t, l)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestBeginRefuses: nothing can be begun on a log that is broken, and who writes to the database invents nothing.
func TestBeginRefuses(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		if _, err := l.Begin(t.Context(), sample(1)); err != nil {
			t.Fatal(err)
		}
		run(t, db, `UPDATE audit_begun SET record = REPLACE(record, 'globex', 'evil'), time = 0`)
		if err := l.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "it is not signed") {
			t.Errorf("a forged action: %v", err)
		}
		if got := outcomes(t, l); len(got) > 0 {
			t.Errorf("it was recorded: %v", got)
		}
		run(t, db, `UPDATE audit_head SET sequence = 7`)
		_, err := l.Begin(t.Context(), sample(2))
		if _, broken := errors.AsType[*BrokenError](err); !broken {
			t.Errorf("begun on a broken log: %v", err)
		}
	})
}

// TestSource: records of a source and how far it was read are there together, or not at all.
func TestSource(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		position := func(want string) {
			t.Helper()
			if got, err := l.Position(t.Context(), "file"); err != nil || got != want {
				t.Errorf("position %q, %v; want %q", got, err, want)
			}
		}
		position("")
		for _, next := range []string{"10", "20"} {
			if err := l.AppendFrom(t.Context(), "file", next, []Record{sample(3), sample(6)}); err != nil {
				t.Fatal(err)
			}
			position(next)
		}
		if err := l.AppendFrom(t.Context(), "file", "30", []Record{sample(3), {}}); err == nil {
			t.Error("appended what is no record")
		}
		position("20")
		if report := verify(t, l, nil); !report.Sound() || report.Records != 4 {
			t.Errorf("%+v", report)
		}
		run(t, db, `UPDATE audit_sources SET position = '99'`)
		if _, err := l.Position(t.Context(), "file"); err == nil {
			t.Error("took a position that was not signed")
		}
	})
}
