package audit

import (
	"database/sql"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

// triggers of the log, by database. Who tampers removes them first.
var triggers = map[string][]string{
	"SQLite": {
		"audit_records_replace", "audit_records_update", "audit_records_delete",
		"audit_head_replace", "audit_head_update", "audit_head_delete",
	},
	"PostgreSQL": {
		"audit_records_refuse ON audit_records", "audit_head_refuse ON audit_head", "audit_head_update ON audit_head",
	},
}

func isBroken(err error) bool {
	_, ok := errors.AsType[*BrokenError](err)
	return ok
}

func run(t *testing.T, db *database.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		result, err := db.ExecContext(t.Context(), statement)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		if n, err := result.RowsAffected(); err == nil && n == 0 && !strings.HasPrefix(statement, "DROP") {
			t.Fatalf("%s: changed nothing", statement)
		}
	}
}

func dropTriggers(t *testing.T, db *database.DB) {
	t.Helper()
	for _, trigger := range triggers[path.Base(t.Name())] {
		run(t, db, "DROP TRIGGER "+trigger)
	}
}

const tampered = 10 // records of the log that is tampered with

// changes of each column of record 4, and what is wrong then.
func changes() map[string]string {
	out := map[string]string{}
	for column := range strings.FieldsFuncSeq(columns, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' || c == '\t' }) {
		value := "'forged'"
		if column == "sequence" {
			continue
		}
		if column == "time" || column == "status" {
			value = column + " + 1"
		}
		out[column] = "UPDATE audit_records SET " + column + " = " + value + " WHERE sequence = 4"
	}
	return out
}

func TestVerifyChangedColumn(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		remembered := Head{Sequence: 4, Hash: fill(t, l, tampered)[3].Hash}
		dropTriggers(t, db)
		if len(changes()) != 20 {
			t.Errorf("%d columns", len(changes()))
		}
		for column, statement := range changes() {
			restore := keep(t, db, column)
			run(t, db, statement)
			if diff := cmp.Diff([]Problem{{4, 4, Changed}}, verify(t, l, &remembered).Problems); diff != "" {
				t.Errorf("%s, -want +got:\n%s", column, diff)
			}
			restore()
		}
		if report := verify(t, l, nil); !report.Sound() {
			t.Errorf("restored: %+v", report)
		}
	})
}

// keep returns what puts back a column of record 4.
func keep(t *testing.T, db *database.DB, column string) func() {
	t.Helper()
	var value any
	if err := db.QueryRowContext(t.Context(), "SELECT "+column+" FROM audit_records WHERE sequence = 4").Scan(&value); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := db.ExecContext(t.Context(), "UPDATE audit_records SET "+column+" = $1 WHERE sequence = 4", value); err != nil {
			t.Fatal(err)
		}
	}
}

// tamperings are what an attacker does who can write to the database, and has not the key.
var tamperings = map[string]struct {
	statements []string
	want       []Problem
	// silent: with the head remembered elsewhere alone it is seen.
	silent bool
}{
	"FirstDeleted":  {[]string{`DELETE FROM audit_records WHERE sequence = 1`}, []Problem{{1, 1, Missing}}, false},
	"MiddleDeleted": {[]string{`DELETE FROM audit_records WHERE sequence = 5`}, []Problem{{5, 5, Missing}}, false},
	"LastDeleted":   {[]string{`DELETE FROM audit_records WHERE sequence = 10`}, []Problem{{10, 10, Missing}}, false},
	"TailDeleted":   {[]string{`DELETE FROM audit_records WHERE sequence > 7`}, []Problem{{8, 10, Missing}}, false},
	"AllDeleted":    {[]string{`DELETE FROM audit_records`}, []Problem{{1, 10, Missing}}, false},
	"TwoGaps": {
		[]string{`DELETE FROM audit_records WHERE sequence IN (2, 3, 7)`},
		[]Problem{{2, 3, Missing}, {7, 7, Missing}}, false,
	},
	"DeletedAndClosedUp": {
		[]string{`DELETE FROM audit_records WHERE sequence = 9`, `UPDATE audit_records SET sequence = 9 WHERE sequence = 10`},
		[]Problem{{9, 9, Changed}, {10, 10, Missing}}, false,
	},
	"Swapped": {
		[]string{
			`UPDATE audit_records SET sequence = 100 WHERE sequence = 3`, `UPDATE audit_records SET sequence = 3 WHERE sequence = 6`,
			`UPDATE audit_records SET sequence = 6 WHERE sequence = 100`,
		},
		[]Problem{{3, 3, Changed}, {6, 6, Changed}}, false,
	},
	"SwappedNeighbours": {
		[]string{
			`UPDATE audit_records SET sequence = 100 WHERE sequence = 3`, `UPDATE audit_records SET sequence = 3 WHERE sequence = 4`,
			`UPDATE audit_records SET sequence = 4 WHERE sequence = 100`,
		},
		[]Problem{{3, 3, Changed}, {4, 4, Changed}}, false,
	},
	"ForgedBehind":   {[]string{copyOf(5, 11)}, []Problem{{11, 11, Beyond}}, false},
	"ForgedBefore":   {[]string{copyOf(5, 0), copyOf(5, -7)}, []Problem{{-7, -7, Beyond}, {0, 0, Beyond}}, false},
	"ForgedInPlace":  {[]string{`DELETE FROM audit_records WHERE sequence = 5`, copyOf(6, 5)}, []Problem{{5, 5, Changed}}, false},
	"FormerHead":     {[]string{"FORMER HEAD"}, []Problem{{9, 10, Beyond}}, false},
	"HeadSequence":   {[]string{`UPDATE audit_head SET sequence = 9`}, []Problem{{9, 9, HeadChanged}}, false},
	"HeadHash":       {[]string{`UPDATE audit_head SET hash = 'forged'`}, []Problem{{10, 10, HeadChanged}}, false},
	"HeadSignature":  {[]string{`UPDATE audit_head SET signature = 'forged'`}, []Problem{{10, 10, HeadChanged}}, false},
	"HeadDeleted":    {[]string{`DELETE FROM audit_head`}, []Problem{{0, 0, HeadMissing}}, false},
	"TailWithHead":   {[]string{`DELETE FROM audit_records WHERE sequence > 8`, headOf(8)}, []Problem{{8, 8, HeadChanged}, {9, 10, Missing}}, false},
	"FormerState":    {[]string{`DELETE FROM audit_records WHERE sequence > 8`, "FORMER HEAD"}, []Problem{{9, 10, Missing}}, true},
	"EverythingGone": {[]string{`DELETE FROM audit_records`, `DELETE FROM audit_head`}, []Problem{{0, 0, HeadMissing}, {1, 10, Missing}}, false},
}

// copyOf puts a copy of a record at another place.
func copyOf(record, place int) string {
	_, rest, _ := strings.Cut(columns, ",")
	return fmt.Sprintf("INSERT INTO audit_records (%s) SELECT %d, %s FROM audit_records WHERE sequence = %d", columns, place, rest, record)
}

// headOf makes a record the last one, as well as one can without the key.
func headOf(record int) string {
	return fmt.Sprintf("UPDATE audit_head SET sequence = %d, hash = (SELECT hash FROM audit_records WHERE sequence = %d)", record, record)
}

func TestVerifyTampered(t *testing.T) {
	for name, tc := range tamperings {
		t.Run(name, func(t *testing.T) {
			databasetest.Each(t, func(t *testing.T, db *database.DB) {
				l := open(t, db)
				fill(t, l, tampered-2)
				former, err := l.Head(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				fill(t, l, 2)
				last, err := l.Head(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				dropTriggers(t, db)
				for _, statement := range tc.statements {
					if statement == "FORMER HEAD" {
						statement = fmt.Sprintf("UPDATE audit_head SET sequence = %d, hash = '%s', signature = '%s'",
							former.Sequence, former.Hash, l.keys.signHead(former))
					}
					run(t, db, statement)
				}
				if diff := cmp.Diff(tc.want, verify(t, l, &last).Problems); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if verify(t, l, nil).Sound() != tc.silent {
					t.Errorf("without the head that was remembered: sound is %t", !tc.silent)
				}
			})
		})
	}
}

// TestAppendRefused: nothing is appended where that would hide what an attacker did to the end of the log.
func TestAppendRefused(t *testing.T) {
	for _, name := range []string{
		"LastDeleted", "TailDeleted", "AllDeleted", "DeletedAndClosedUp", "ForgedBehind", "HeadSequence", "HeadHash", "HeadSignature",
		"HeadDeleted", "TailWithHead", "EverythingGone",
	} {
		t.Run(name, func(t *testing.T) {
			databasetest.Each(t, func(t *testing.T, db *database.DB) {
				fill(t, open(t, db), tampered)
				dropTriggers(t, db)
				l := open(t, db) // has seen nothing
				run(t, db, tamperings[name].statements...)
				if _, err := l.Append(t.Context(), sample(1)); !isBroken(err) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestFormerState: a process that has seen more than there is appends nothing, and says what is missing.
func TestFormerState(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		fill(t, l, 3)
		former, err := l.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fill(t, l, 2)
		dropTriggers(t, db)
		run(t, db, `DELETE FROM audit_records WHERE sequence > 3`,
			fmt.Sprintf("UPDATE audit_head SET sequence = 3, hash = '%s', signature = '%s'", former.Hash, l.keys.signHead(former)))
		_, err = l.Append(t.Context(), sample(1))
		if err == nil || !isBroken(err) || err.Error() != "append record: the audit log is broken: records 4 to 5: each is missing" {
			t.Errorf("got %v", err)
		}
		if _, err := l.Head(t.Context()); !isBroken(err) {
			t.Errorf("head: %v", err)
		}
		// After a restart it goes on; who remembers a head sees that this is another history.
		again := open(t, db)
		remembered := Head{Sequence: 5, Hash: l.seen.Hash}
		fill(t, again, 3)
		if diff := cmp.Diff([]Problem{{5, 5, Rewritten}}, verify(t, again, &remembered).Problems); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestVerifyFork: a record of another history of the same log is not the one that stood there.
func TestVerifyFork(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		fill(t, l, 3)
		other := sample(99)
		l.keys.link(&other, Head{Sequence: 1, Hash: origin})
		dropTriggers(t, db)
		err := db.Do(t.Context(), lock, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(t.Context(), `DELETE FROM audit_records WHERE sequence = 2`); err != nil {
				return err
			}
			return writeRecord(t.Context(), tx, other)
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Problem{{2, 2, Unlinked}, {3, 3, Unlinked}}, verify(t, l, nil).Problems); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestVerifyManyProblems: a report stays small, and says so.
func TestVerifyManyProblems(t *testing.T) {
	db := databasetest.Open(t, databasetest.SQLite(t))
	l := open(t, db)
	appendMany(t, l, maxProblems+50)
	run(t, db, "DROP TRIGGER audit_records_update", "UPDATE audit_records SET reason = 'forged'")
	report := verify(t, l, nil)
	if len(report.Problems) != maxProblems || !report.More || report.Records != maxProblems+50 {
		t.Errorf("%d problems, more: %t, of %d records", len(report.Problems), report.More, report.Records)
	}
}

// TestVerifyPages: a log of more than one page is walked over the borders.
func TestVerifyPages(t *testing.T) {
	db := databasetest.Open(t, databasetest.SQLite(t))
	l := open(t, db)
	head := appendMany(t, l, MaxLimit+2)
	if diff := cmp.Diff(Report{Records: MaxLimit + 2, Head: head, Complete: true}, verify(t, l, &head)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	run(t, db, "DROP TRIGGER audit_records_delete", fmt.Sprintf("DELETE FROM audit_records WHERE sequence IN (%d, %d)", MaxLimit, MaxLimit+1))
	if diff := cmp.Diff([]Problem{{MaxLimit, MaxLimit + 1, Missing}}, verify(t, l, nil).Problems); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// appendMany appends n records in few transactions.
func appendMany(t *testing.T, l *Log, n int) Head {
	t.Helper()
	for begin := 0; begin < n; begin += maxBatch {
		for i := range min(maxBatch, n-begin) {
			l.waiting = append(l.waiting, &entry{record: sample(begin + i), done: make(chan struct{})})
		}
		l.writing <- struct{}{}
		l.writeWaiting(t.Context())
	}
	head, err := l.Head(t.Context())
	if err != nil || head.Sequence != int64(n) {
		t.Fatal(head, err)
	}
	return head
}

// TestAppendOnly: the database itself refuses what would change the log by mistake.
func TestAppendOnly(t *testing.T) {
	statements := []string{
		`UPDATE audit_records SET reason = 'other' WHERE sequence = 2`, `UPDATE audit_records SET sequence = 20 WHERE sequence = 2`,
		`DELETE FROM audit_records WHERE sequence = 2`, `DELETE FROM audit_records`, `DELETE FROM audit_head`,
		`UPDATE audit_head SET sequence = 1`, `UPDATE audit_head SET hash = 'other'`, copyOf(1, 2),
		`INSERT INTO audit_head (id, sequence, hash, signature) VALUES (1, 9, '', '')`,
	}
	own := map[string][]string{
		"SQLite": {
			strings.Replace(copyOf(1, 2), "INSERT", "INSERT OR REPLACE", 1),
			`REPLACE INTO audit_head (id, sequence, hash, signature) VALUES (1, 9, '', '')`,
			`UPDATE OR REPLACE audit_records SET sequence = 1 WHERE sequence = 2`,
		},
		"PostgreSQL": {`TRUNCATE audit_records`, `TRUNCATE audit_head`, `INSERT INTO audit_head (id, sequence, hash, signature)
			VALUES (1, 1, '', '') ON CONFLICT (id) DO UPDATE SET sequence = 1`},
	}
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		fill(t, l, 3)
		for _, statement := range append(statements, own[path.Base(t.Name())]...) {
			if _, err := db.ExecContext(t.Context(), statement); err == nil {
				t.Errorf("%s: was done", statement)
			}
		}
		if report := verify(t, l, nil); !report.Sound() || report.Records != 3 {
			t.Errorf("%+v", report)
		}
	})
}
