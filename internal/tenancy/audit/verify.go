package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
)

// maxProblems is how many a report names.
const maxProblems = 100

// Report says what a verification has found.
type Report struct {
	// Records is how many were read.
	Records int64
	// Head is the end of the log as it is written.
	Head Head
	// Complete says whether the whole log was looked at; in an export of a part what is not there is not missing.
	Complete bool
	// Problems are all places that are wrong, in their order; the first 100 of them.
	Problems []Problem
	// More says that there are problems that are not named.
	More bool
}

// Sound says that everything is as it was written.
func (r Report) Sound() bool { return len(r.Problems) == 0 }

// Verify reads the whole log, a page at a time, while others append to it, and reports every place that is not what
// was written. remembered, which may be nil, is a head that was kept elsewhere: without one, a writer to
// the database can put a former state of it in place of the last one. Verify returns an error only where it could
// not look.
func (l *Log) Verify(ctx context.Context, remembered *Head) (Report, error) {
	w := walk{keys: l.keys, report: Report{Complete: true}, hash: origin, sound: true, remembered: remembered}
	head, err := l.readHead(ctx, l.db)
	unsigned, ok := errors.AsType[*BrokenError](err)
	if err != nil && !ok {
		return Report{}, fmt.Errorf("verify the audit log: %w", err)
	}
	w.report.Head = head
	until := head.Sequence
	if ok {
		until = math.MaxInt64
	}
	everything := Filter{AllOrganizations: true, OldestFirst: true}
	for after := int64(math.MinInt64); ; after = w.last {
		records, err := l.read(ctx, everything, after, until, MaxLimit)
		if err != nil {
			return Report{}, fmt.Errorf("verify the audit log after record %d: %w", w.last, err)
		}
		for _, r := range records {
			w.next(r)
		}
		if len(records) < MaxLimit {
			break
		}
	}
	if ok {
		w.add(unsigned.Problem.First, unsigned.Problem.Last, unsigned.Problem.What)
	} else if err := l.verifyEnd(ctx, &w, head); err != nil {
		return Report{}, fmt.Errorf("verify the end of the audit log: %w", err)
	}
	w.compareRemembered()
	return w.report, nil
}

// verifyEnd compares the records with a head that is signed.
func (l *Log) verifyEnd(ctx context.Context, w *walk, head Head) error {
	w.end(head)
	// One statement sees records and head of the same moment.
	var first, last sql.NullInt64
	err := l.db.QueryRowContext(ctx, `SELECT MIN(sequence), MAX(sequence) FROM audit_records
		WHERE sequence > (SELECT sequence FROM audit_head WHERE id = 1)`).Scan(&first, &last)
	if err != nil {
		return err
	}
	if first.Valid {
		w.beyond = last.Int64
		w.add(first.Int64, last.Int64, Beyond)
	}
	return nil
}

// walk looks at records in the order of their sequences.
type walk struct {
	keys   keys
	report Report
	// last is the sequence of the last record, hash what is written as its hash, and sound whether it was what it
	// should be.
	last  int64
	hash  string
	sound bool

	// beyond is the last record behind the head; 0 where there is none.
	beyond     int64
	remembered *Head
	// met is the hash of the record that is remembered; empty when it was not met, or is not what was written.
	met string
}

// add notes a place, unless there are too many.
func (w *walk) add(first, last int64, what What) {
	if len(w.report.Problems) == maxProblems {
		w.report.More = true
		return
	}
	w.report.Problems = append(w.report.Problems, Problem{First: first, Last: last, What: what})
}

// next looks at the record that follows. Each record says by its own hash whether it is what was written, and at
// which place, so that one that was tampered with makes no other one wrong.
func (w *walk) next(r Record) {
	w.report.Records++
	switch {
	case r.Sequence < 1:
		w.add(r.Sequence, r.Sequence, Beyond)
		return
	case r.Sequence <= w.last:
		w.add(r.Sequence, r.Sequence, OutOfOrder)
		return
	}
	sound := same(r.Hash, w.keys.hash(r))
	follows := r.Sequence == w.last+1
	if w.report.Complete && !follows {
		w.add(w.last+1, r.Sequence-1, Missing)
	}
	switch {
	case !sound:
		w.add(r.Sequence, r.Sequence, Changed)
	case follows && w.sound && r.Previous != w.hash:
		w.add(r.Sequence, r.Sequence, Unlinked)
	}
	w.last, w.hash, w.sound = r.Sequence, r.Hash, sound
	if sound && w.remembered != nil && r.Sequence == w.remembered.Sequence {
		w.met = r.Hash
	}
}

// end compares the last record with the head.
func (w *walk) end(head Head) {
	switch {
	case w.last < head.Sequence:
		w.add(w.last+1, head.Sequence, Missing)
	case w.sound && w.hash != head.Hash:
		w.add(head.Sequence, head.Sequence, HeadUnlike)
	}
}

func (w *walk) compareRemembered() {
	remembered, end := w.remembered, max(w.last, w.report.Head.Sequence, w.beyond)
	switch {
	case remembered == nil || remembered.Sequence < 1:
	case remembered.Sequence > end:
		w.add(end+1, remembered.Sequence, Missing)
	case w.met != "" && w.met != remembered.Hash:
		w.add(remembered.Sequence, remembered.Sequence, Rewritten)
	}
}
