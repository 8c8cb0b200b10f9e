package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
)

// store is the database as all subjects use it. One act often changes the tables of several of them, in one transaction.
type store struct {
	db    *database.DB
	clock func() time.Time
	// strangers is held by what writes for callers who are not signed in.
	strangers chan struct{}
}

// now is the time as it is kept.
func (s *store) now() time.Time { return database.FromTime(database.Time(s.clock())) }

// doForStranger does what database.DB.Do does, for callers of whom nothing is known: one at a time, so that a flood of
// them waits here and leaves the connections of the database to others.
func (s *store) doForStranger(ctx context.Context, lock string, act func(tx *sql.Tx) error) error {
	select {
	case s.strangers <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for others who are not signed in: %w", ctx.Err())
	}
	defer func() { <-s.strangers }()
	return s.db.Do(ctx, lock, act)
}

// pendingRows are rows that every caller may ask for.
type pendingRows struct {
	// expired removes what has expired at $1, count counts all and those of the source $1, oldest removes $1 of them.
	expired, count, oldest string
}

// makePlace makes room for one more: one source is refused what is too much, and in all the oldest go.
func (s *store) makePlace(ctx context.Context, tx *sql.Tx, rows pendingRows, source string) error {
	if _, err := tx.ExecContext(ctx, rows.expired, database.Time(s.clock())); err != nil {
		return err
	}
	var all, same int
	if err := tx.QueryRowContext(ctx, rows.count, source).Scan(&all, &same); err != nil {
		return err
	}
	if source != "" && same >= maxPendingPerSource {
		return ErrTooMany
	}
	if all < maxPending {
		return nil
	}
	_, err := tx.ExecContext(ctx, rows.oldest, all-maxPending+1)
	return err
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// changed says whether a statement changed a row; ErrNotFound when it did not.
func changed(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrNotFound
	}
	return nil
}

// found turns the driver's word for no row into ours.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}
