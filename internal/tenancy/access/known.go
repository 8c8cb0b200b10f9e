package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
)

const (
	// knownFor is how long after the last sign-in there an address is one of the user's.
	knownFor = 90 * day
	// maxKnown is how many addresses of one user are kept; the oldest go first.
	maxKnown = 50
)

// knows says whether a user has signed in with a password from there. The user alone can make it true, so that a stranger
// neither fills the table nor empties it.
func knows(ctx context.Context, q querier, name, source string) (bool, error) {
	var there int
	err := q.QueryRowContext(ctx, `SELECT 1 FROM access_known WHERE account = $1 AND source = $2`, name, source).Scan(&there)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// remember notes from where a user has signed in.
func remember(ctx context.Context, tx *sql.Tx, name, source string, now time.Time) error {
	if source == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO access_known (account, source, last) VALUES ($1, $2, $3)
		ON CONFLICT (account, source) DO UPDATE SET last = excluded.last`, name, source, database.Time(now))
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM access_known WHERE account = $1 AND source NOT IN (
			SELECT source FROM access_known WHERE account = $1 ORDER BY last DESC, source LIMIT $2)`, name, maxKnown)
	}
	if err != nil {
		return fmt.Errorf("note the address of a user: %w", err)
	}
	return nil
}
