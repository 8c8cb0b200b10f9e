package inventory

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// markSeen notes when subjects came and went, and how many rows of them there are now.
func markSeen(ctx context.Context, tx *sql.Tx, cluster int64, touched map[subjectKey]bool, at int64) error {
	for part := range slices.Chunk(slices.Collect(maps.Keys(touched)), chunk) {
		found, err := lastSeen(ctx, tx, part, cluster)
		if err != nil {
			return err
		}
		var s statement
		var values []string
		for _, one := range found {
			if one.last != 0 {
				values = append(values, s.tuple(numbers[one.kind], one.id, cluster, at, one.last, one.items))
				continue
			}
			// It was there for no time at all.
			_, err := tx.ExecContext(ctx, `DELETE FROM inventory_seen WHERE kind = $1 AND subject = $2 AND cluster = $3`, numbers[one.kind], one.id, cluster)
			if err != nil {
				return err
			}
		}
		if len(values) == 0 {
			continue
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO inventory_seen (kind, subject, cluster, first_seen, last_seen, items) VALUES `+strings.Join(values, ", ")+`
			ON CONFLICT (kind, subject, cluster) DO UPDATE SET last_seen = excluded.last_seen, items = excluded.items
			WHERE inventory_seen.last_seen <> excluded.last_seen OR inventory_seen.items <> excluded.items`, s.args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// seenLast is until when a subject was in a cluster, 0 where it never was, and how many rows there are of it now.
type seenLast struct {
	subjectKey

	last, items int64
}

// lastSeen is until when subjects were in a cluster.
func lastSeen(ctx context.Context, tx *sql.Tx, keys []subjectKey, cluster int64) ([]seenLast, error) {
	values := make([]string, 0, len(keys))
	for _, key := range keys {
		values = append(values, fmt.Sprintf("(%d, %d)", numbers[key.kind], key.id))
	}
	const of = `FROM inventory_rows r WHERE r.subject = k.column2 AND r.kind = k.column1 AND r.cluster = $1`
	now := of + fmt.Sprintf(` AND r.span = %d`, openSpan)
	return collect(ctx, tx, `SELECT k.column1, k.column2, (SELECT COUNT(*) `+now+`), CASE WHEN EXISTS (SELECT 1 `+now+`)
		THEN `+openSQL+` ELSE COALESCE((SELECT MAX(r.valid_to) `+of+`), 0) END FROM (VALUES `+strings.Join(values, ", ")+`) k`, []any{cluster},
		func(rows *sql.Rows, to *seenLast) error {
			var kind int
			err := rows.Scan(&kind, &to.id, &to.items, &to.last)
			to.kind = kindOf(kind)
			return err
		})
}

// countItems counts all rows of a cluster again: those that a migration counted may have been counted in the middle of changes.
func countItems(ctx context.Context, tx *sql.Tx, cluster int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE inventory_seen SET items = (SELECT COUNT(*) FROM inventory_rows r WHERE r.subject = inventory_seen.subject
		AND r.kind = inventory_seen.kind AND r.cluster = inventory_seen.cluster AND r.span = $1) WHERE cluster = $2 AND last_seen = `+openSQL, openSpan, cluster)
	if err != nil {
		return fmt.Errorf("count the rows of a cluster: %w", err)
	}
	return nil
}
