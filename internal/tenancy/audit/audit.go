// Package audit is the audit log: who did what to which object, when, from where,
// and with what outcome.
//
// Records are only ever appended, and each carries a keyed hash of itself and of
// the one before. Who can write to the database and does not have the key can
// neither change, invent, move nor remove a record without [Log.Verify] naming the
// place. It hides the chain, its lock, and the order of records. Packages that act
// for a caller may import it; it knows nothing of HTTP. docs/operations/audit.md says what is
// recorded and how a log is checked without this package.
package audit

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
)

//go:embed migrations
var migrations embed.FS

// lock is held, over all replicas, by the one that appends.
const lock = "audit"

// Log is the audit log in a database. It is safe for concurrent use, and several replicas may append to one.
type Log struct {
	db   *database.DB
	keys keys
	now  func() time.Time

	mu sync.Mutex
	// seen is the furthest head that this process has seen: a log that is shorter was cut.
	seen Head
	// waiting are the records that the next transaction appends.
	waiting []*entry
	// writing is held by the goroutine that appends what waits.
	writing chan struct{}
}

// Open is [New] and [Log.Migrate].
func Open(ctx context.Context, db *database.DB, key []byte) (*Log, error) {
	l, err := New(db, key)
	if err != nil {
		return nil, err
	}
	if err := l.Migrate(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// New makes no call to the database. The key has KeySize bytes and stays the same as long as the log. A log that was
// tampered with, or has another key, is opened, so that it can be verified: [Log.Head] tells.
func New(db *database.DB, key []byte) (*Log, error) {
	derived, err := newKeys(key)
	if err != nil {
		return nil, err
	}
	return &Log{db: db, keys: derived, now: time.Now, writing: make(chan struct{}, 1)}, nil
}

// Migrate brings the tables up to date, and begins the log where there is none. It comes before everything else.
func (l *Log) Migrate(ctx context.Context) error {
	if err := l.db.Migrate(ctx, "audit", migrations); err != nil {
		return fmt.Errorf("open the audit log: %w", err)
	}
	if err := l.db.Do(ctx, lock, func(tx *sql.Tx) error { return l.begin(ctx, tx) }); err != nil {
		return fmt.Errorf("open the audit log: %w", err)
	}
	return nil
}

// begin makes the head of an empty log. One that has records and no head was tampered with, and stays so.
func (l *Log) begin(ctx context.Context, tx *sql.Tx) error {
	var rows int64
	err := tx.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM audit_head) +
		(SELECT COUNT(*) FROM (SELECT sequence FROM audit_records LIMIT 1) AS any_record)`).Scan(&rows)
	if err != nil || rows > 0 {
		return err
	}
	first := Head{Sequence: 0, Hash: origin}
	_, err = tx.ExecContext(ctx, `INSERT INTO audit_head (id, sequence, hash, signature) VALUES (1, $1, $2, $3)`,
		first.Sequence, first.Hash, l.keys.signHead(first))
	return err
}

// Head returns the end of the log. Its error is a [*BrokenError] where the head was tampered with or
// is older than one that this process has seen.
func (l *Log) Head(ctx context.Context) (Head, error) {
	head, err := l.currentHead(ctx, l.db)
	if err != nil {
		return Head{}, fmt.Errorf("read the head of the audit log: %w", err)
	}
	l.remember(head)
	return head, nil
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// readHead returns the head as it is written, with a [*BrokenError] where it is not signed.
func (l *Log) readHead(ctx context.Context, q querier) (Head, error) {
	var head Head
	var signature string
	err := q.QueryRowContext(ctx, `SELECT sequence, hash, signature FROM audit_head WHERE id = 1`).
		Scan(&head.Sequence, &head.Hash, &signature)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Head{}, broken(0, 0, HeadMissing)
	case err != nil:
		return Head{}, err
	case !same(signature, l.keys.signHead(head)):
		return head, broken(head.Sequence, head.Sequence, HeadChanged)
	}
	return head, nil
}

// currentHead returns the head, with a [*BrokenError] where it is not signed, or is older than what this process has seen:
// an old one is signed as well as the last one.
func (l *Log) currentHead(ctx context.Context, q querier) (Head, error) {
	l.mu.Lock()
	seen := l.seen // before reading: others append meanwhile
	l.mu.Unlock()
	head, err := l.readHead(ctx, q)
	switch {
	case err != nil:
		return Head{}, err
	case head.Sequence < seen.Sequence:
		return Head{}, broken(head.Sequence+1, seen.Sequence, Missing)
	case head.Sequence == seen.Sequence && seen.Hash != "" && head.Hash != seen.Hash:
		return Head{}, broken(head.Sequence, head.Sequence, Rewritten)
	}
	return head, nil
}

func (l *Log) remember(head Head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if head.Sequence >= l.seen.Sequence {
		l.seen = head
	}
}
