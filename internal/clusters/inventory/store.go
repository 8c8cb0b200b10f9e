package inventory

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"math"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
)

//go:embed migrations
var migrations embed.FS

const (
	// lock is held, over all replicas, by what writes: content that no row uses could be removed just when a row begins to
	// use it, and SQLite has one writer anyway.
	lock = "inventory"

	// open is until when a row is valid that has no end yet. Queries name it as a number, by which SQLite finds the index.
	open    = math.MaxInt64
	openSQL = "9223372036854775807"

	// unconfirmed is after how long without a confirmation a cluster does not count as watched any more.
	unconfirmed = 2 * time.Minute
	// resumeMargin of a microsecond keeps changes that are written in parts behind what is known already.
	resumeMargin = 1
)

// limits bound what one cluster can make the store hold and do, and how it is read.
type limits struct {
	// items is how many of one kind a cluster has at most; the rest is dropped.
	items int
	// bytes is what all rows of a cluster are charged at most. The oldest history is removed for newer one; of what is there now, what is new is dropped.
	bytes int64
	// batch is how many rows one transaction closes and opens, so that other writers of SQLite do not wait for long.
	batch int
	// narrow is up to how many clusters groups are counted from the clusters on, and else from images or binaries on: the one reads all that the
	// clusters have, the other what is in all clusters.
	narrow int
	// chosen is up to how many images are named in a query. More of them are found soon in their order, until a page is full.
	chosen int
	// few is up to how many rows of a subject in a cluster are read all, whenever they were so: to look into each class of spans is more work.
	few int
}

// Store is the observation store in a database. It is safe for concurrent use, and several replicas may write to one.
type Store struct {
	db     *database.DB
	now    func() time.Time
	limits limits
	large  chan struct{} // has a value for each of the large changes that are being written
}

// New makes no call to the database.
func New(db *database.DB, now func() time.Time) *Store {
	return &Store{
		db: db, now: now, large: make(chan struct{}, largeAtOnce),
		limits: limits{items: 200_000, bytes: 1 << 30, batch: 2000, narrow: 20, chosen: 250, few: 64},
	}
}

// Migrate brings the tables up to date. It comes before everything else.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.db.Migrate(ctx, "inventory", migrations); err != nil {
		return fmt.Errorf("open the observation store: %w", err)
	}
	return nil
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// read calls act with a snapshot: all that act reads is of one moment.
func (s *Store) read(ctx context.Context, act func(tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin to read: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return act(tx)
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, q querier, query string, args []any, scan func(rows *sql.Rows, to *T) error) (_ []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		var one T
		if err := scan(rows, &one); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, rows.Err()
}
