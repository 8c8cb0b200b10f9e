package access

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
)

// maxEntries is with how many of their sessions and tokens an account may enter one audience at the same time.
const maxEntries = 100

// Entries are with which sessions and tokens users entered clusters, so that what a cluster gave them ends with these.
type Entries struct{ *store }

// Enter notes that a user was given a credential for an audience, which expires at until, and before when the session or
// token by ends with which the user asked for it. Errors: ErrTooMany.
func (s *Entries) Enter(ctx context.Context, by Identity, audience string, until time.Time) error {
	err := s.db.Do(ctx, "", func(tx *sql.Tx) error {
		end, now := database.Time(until), database.Time(s.clock())
		_, err := tx.ExecContext(ctx, `INSERT INTO access_entries (audience, credential, account, until) VALUES ($1, $2, $3, $4)
			ON CONFLICT (audience, credential) DO UPDATE SET until = excluded.until WHERE access_entries.until < excluded.until`,
			audience, by.Credential.ID, by.Name, end)
		if err != nil {
			return err
		}
		var entries int
		err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM access_entries WHERE audience = $1 AND account = $2 AND until > $3`,
			audience, by.Name, now).Scan(&entries)
		if err == nil && entries > maxEntries {
			err = ErrTooMany
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("note that %s enters %s: %w", by.Name, audience, err)
	}
	return nil
}

// Ended returns, by audience and in order, the ids of the sessions and tokens with which a user got a credential that
// is not over, and which are themselves good no more: expired, revoked, of another epoch, of a user who is disabled or
// gone.
func (s *Entries) Ended(ctx context.Context) (map[string][]string, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT e.audience, e.credential FROM access_entries e
		WHERE e.until > $1 AND NOT EXISTS (
			SELECT 1 FROM access_credentials c JOIN access_accounts a ON a.name = c.account
			WHERE c.id = e.credential AND c.epoch = a.epoch AND a.disabled = FALSE
			AND c.expires > $1 AND (c.idle = 0 OR c.last_used + c.idle > $1))
		ORDER BY e.audience, e.credential`, database.Time(s.clock()))
	if err != nil {
		return nil, fmt.Errorf("read which credentials ended: %w", err)
	}
	defer rows.Close()
	ended := map[string][]string{}
	for rows.Next() {
		var audience, id string
		if err := rows.Scan(&audience, &id); err != nil {
			return nil, fmt.Errorf("read which credentials ended: %w", err)
		}
		ended[audience] = append(ended[audience], id)
	}
	return ended, rows.Err()
}
