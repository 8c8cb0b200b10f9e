package inventory

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
)

// abandoned is after how long changes that are not written to their end count as left by a crash.
const abandoned = time.Hour

// Prune removes the history before a time: rows that ended before it, content that no row uses any more, and clusters that left
// before it. It writes in batches. When an image was first seen stays known for as long as a row of it does.
func (s *Store) Prune(ctx context.Context, before time.Time) error {
	if err := s.prune(ctx, database.Time(before)); err != nil {
		return fmt.Errorf("remove old observations: %w", err)
	}
	return nil
}

func (s *Store) prune(ctx context.Context, before int64) error {
	type old struct {
		id, at, pending int64
		uid             string
	}
	clusters, err := collect(ctx, s.db, `SELECT id, uid, ended, pending FROM inventory_clusters ORDER BY id`, nil,
		func(rows *sql.Rows, to *old) error { return rows.Scan(&to.id, &to.uid, &to.at, &to.pending) })
	if err != nil {
		return err
	}
	for _, c := range clusters {
		// What a crash left of the changes of a cluster that does not answer since makes questions slower.
		if c.pending != 0 && c.pending < database.Time(s.now().Add(-abandoned)) {
			if err := s.takeBack(ctx, c.uid); err != nil {
				return err
			}
		}
		if c.at != 0 { // a crash may have left some
			if err := s.endRows(ctx, c.id, c.at); err != nil {
				return err
			}
		}
		if err := s.pruneCluster(ctx, c.id, before); err != nil {
			return err
		}
	}
	return s.pruneUnused(ctx)
}

// pruneUnused removes what no row uses. It can only come into use under the lock, which the one who removes it has.
func (s *Store) pruneUnused(ctx context.Context) error {
	for _, statement := range unused {
		if err := s.removeBatches(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// unused are statements that select what no row uses.
var unused = []removal{
	{"inventory_contents", `SELECT x.id FROM inventory_contents x WHERE NOT EXISTS (SELECT 1 FROM inventory_rows r WHERE r.content = x.id)`, nil, nil},
	{"inventory_texts", `SELECT x.id FROM inventory_texts x WHERE NOT EXISTS (SELECT 1 FROM inventory_rows r WHERE r.node = x.id)`, nil, nil},
	{"inventory_images", `SELECT x.id FROM inventory_images x WHERE NOT EXISTS (SELECT 1 FROM inventory_rows r WHERE r.subject = x.id AND r.kind = 1)`, nil, nil},
	{"inventory_binaries", `SELECT x.id FROM inventory_binaries x WHERE NOT EXISTS (SELECT 1 FROM inventory_rows r WHERE r.subject = x.id AND r.kind = 3)`, nil, nil},
}

// removal is rows of a table that are to be removed, by their ids.
type removal struct {
	table, query string
	args         []any
	// remove is called instead of deleting them; nil for none.
	remove func(ctx context.Context, tx *sql.Tx, ids []int64) error
}

// removeBatches finds what is to be removed before it takes the lock, and looks again when it has it.
func (s *Store) removeBatches(ctx context.Context, r removal) error {
	id := func(rows *sql.Rows, to *int64) error { return rows.Scan(to) }
	ids, err := collect(ctx, s.db, r.query, r.args, id)
	if err != nil {
		return err
	}
	for len(ids) > 0 {
		part := ids[:min(len(ids), s.limits.batch)]
		ids = ids[len(part):]
		err := s.db.Do(ctx, lock, func(tx *sql.Tx) error {
			still, err := collect(ctx, tx, r.query+` AND `+numbersIn("x.id", part), r.args, id)
			switch {
			case err != nil:
				return err
			case r.remove != nil:
				return r.remove(ctx, tx, still)
			}
			_, err = tx.ExecContext(ctx, `DELETE FROM `+r.table+` WHERE `+numbersIn("id", still))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) pruneCluster(ctx context.Context, cluster, before int64) error {
	remove := func(ctx context.Context, tx *sql.Tx, ids []int64) error { return removeRows(ctx, tx, cluster, ids) }
	for _, kind := range numbers {
		for class := range openSpan {
			err := s.removeBatches(ctx, removal{"inventory_rows", `SELECT x.id FROM inventory_rows x WHERE x.cluster = $1 AND x.kind = $2 AND x.span = $3
				AND x.valid_from < $4 AND x.valid_to < $4`, []any{cluster, kind, class, before}, remove})
			if err != nil {
				return err
			}
		}
	}
	return s.db.Do(ctx, lock, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM inventory_seen WHERE cluster = $1 AND last_seen < $2`, cluster, before)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE inventory_clusters SET kept_since = 0 WHERE id = $1 AND kept_since < $2`, cluster, before); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `DELETE FROM inventory_clusters WHERE id = $1 AND ended > 0 AND ended < $2`, cluster, before)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err
		}
		for _, table := range []string{"inventory_labels", "inventory_kinds", "inventory_seen"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE cluster = $1`, cluster); err != nil {
				return err
			}
		}
		return nil
	})
}
