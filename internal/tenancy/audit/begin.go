package audit

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
)

// abandonedAfter is how long an action may be under way. Requests are cut off after a minute.
const abandonedAfter = 5 * time.Minute

// Act is an action that is under way. Make it with [Log.Begin].
type Act struct {
	log *Log
	id  string
}

// Begin notes an action before it is done, so that it is in the log even when KQueen ends before it can say what became of it.
// Of r, what is known already is wanted; outcome and status are not. Its errors are those of [Log.Append]: an
// action that cannot be noted is not to be done.
func (l *Log) Begin(ctx context.Context, r Record) (*Act, error) {
	r.Outcome = Unknown
	if err := r.normalize(); err != nil {
		return nil, fmt.Errorf("begin record: %w", err)
	}
	e := &entry{record: r, begins: rand.Text()}
	if err := l.write(ctx, e); err != nil {
		return nil, fmt.Errorf("begin record: %w", err)
	}
	return &Act{log: l, id: e.begins}, nil
}

// End appends the record of an action that was begun, as [Log.Append] does.
func (a *Act) End(ctx context.Context, r Record) (Record, error) {
	return a.log.append(ctx, &entry{record: r, ends: a.id})
}

// Drop forgets an action of which nothing need be recorded.
func (a *Act) Drop(ctx context.Context) error {
	if err := a.log.write(ctx, &entry{ends: a.id, drops: true}); err != nil {
		return fmt.Errorf("drop record: %w", err)
	}
	return nil
}

// note writes an action that begins.
func (l *Log) note(ctx context.Context, tx *sql.Tx, e *entry) error {
	r := e.record
	r.Time = l.now().UTC().Truncate(time.Microsecond)
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO audit_begun (id, time, record, signature) VALUES ($1, $2, $3, $4)`,
		e.begins, database.Time(r.Time), string(raw), l.keys.signAside("begun", e.begins, string(raw)))
	return err
}

// forget says whether the action was still under way.
func forget(ctx context.Context, tx *sql.Tx, id string) (bool, error) {
	result, err := tx.ExecContext(ctx, `DELETE FROM audit_begun WHERE id = $1`, id)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// Sweep appends a record, with the outcome unknown, of each action that was begun and whose end is not told any
// more: KQueen was ended in between, or could not write. Several replicas may do so at once.
func (l *Log) Sweep(ctx context.Context) error {
	abandoned, err := l.abandoned(ctx)
	if err != nil {
		return fmt.Errorf("look for abandoned actions: %w", err)
	}
	var problems []error
	for _, a := range abandoned {
		e, err := l.revive(a)
		if err == nil {
			_, err = l.append(ctx, e)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("record an abandoned action: %w", err))
		}
	}
	return errors.Join(problems...)
}

// begun is a row of what is under way.
type begun struct{ id, record, signature string }

func (l *Log) abandoned(ctx context.Context) (all []begun, err error) {
	rows, err := l.db.QueryContext(ctx, `SELECT id, record, signature FROM audit_begun WHERE time < $1 ORDER BY time LIMIT $2`,
		database.Time(l.now().Add(-abandonedAfter)), maxBatch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var b begun
		if err := rows.Scan(&b.id, &b.record, &b.signature); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, rows.Err()
}

// revive makes the record of an abandoned action. Who can write to the database cannot have one recorded that never was:
// what is not signed is refused.
func (l *Log) revive(b begun) (*entry, error) {
	if !same(b.signature, l.keys.signAside("begun", b.id, b.record)) {
		return nil, fmt.Errorf("%q: it is not signed with the key of this log", clean(b.id, maxWord))
	}
	var r Record
	if err := json.Unmarshal([]byte(b.record), &r); err != nil {
		return nil, fmt.Errorf("%q: %w", b.id, err)
	}
	r.Reason = "begun at " + r.Time.Format(time.RFC3339) + "; KQueen was ended, or could not write, before it was known what became of it"
	return &entry{record: r, ends: b.id, once: true}, nil
}
