package inventory

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
)

// rowBytes is what a row takes beside its texts, with its part of the indexes.
const rowBytes = 200

// size is what a row of an entry is charged: as if nothing of it were kept once for many.
func (e *entry) size() int {
	texts := []string{
		e.key.Namespace, e.key.Name, e.key.Part, e.key.UID, e.body, e.node,
		e.image.Reference, e.image.Repository, e.image.Tag, e.image.Digest, e.binary.component, e.binary.version,
	}
	out := rowBytes
	for _, text := range texts {
		out += len(text)
	}
	return out
}

// charge notes that the rows of a cluster take so many bytes more.
func charge(ctx context.Context, tx *sql.Tx, cluster, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `UPDATE inventory_clusters SET bytes = bytes + $1 WHERE id = $2`, bytes, cluster); err != nil {
		return fmt.Errorf("charge the cluster: %w", err)
	}
	return nil
}

// removeRows removes rows of a cluster, and what it is charged for them.
func removeRows(ctx context.Context, tx *sql.Tx, cluster int64, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `UPDATE inventory_clusters SET bytes = bytes - (SELECT COALESCE(SUM(r.size), 0) FROM inventory_rows r
		WHERE `+numbersIn("r.id", ids)+`) WHERE id = $1`, cluster)
	if err != nil {
		return fmt.Errorf("charge the cluster: %w", err)
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM inventory_rows WHERE `+numbersIn("id", ids))
	return err
}

// trim removes the oldest history of a cluster that is charged more than it may, so that it is an eighth below that. What is there now stays.
// So a cluster that changes all the time has a shorter history than others, and costs no more than its part.
func (s *Store) trim(ctx context.Context, row clusterRow) error {
	before, enough, err := horizon(ctx, s.db, row, row.bytes-s.limits.bytes*7/8)
	if err != nil || before == 0 {
		return err
	}
	err = s.db.Do(ctx, lock, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE inventory_clusters SET kept_since = $1 WHERE id = $2 AND kept_since < $1`, before, row.id)
		return err
	})
	if err != nil {
		return fmt.Errorf("note from when on history is kept: %w", err)
	}
	if err := s.pruneCluster(ctx, row.id, before); err != nil {
		return fmt.Errorf("remove the oldest history: %w", err)
	}
	if !enough { // little was removed, and it may be little again: what it alone used is left for Prune
		return nil
	}
	return s.pruneUnused(ctx)
}

// horizon is the time such that what ended before it takes so many bytes. Where that is not enough, it is that before which all of it ended; 0 where
// nothing did.
func horizon(ctx context.Context, db *database.DB, row clusterRow, bytes int64) (before int64, enough bool, err error) {
	var kinds, ended []int64 // all of them, by which the index is found
	for _, kind := range numbers {
		kinds = append(kinds, int64(kind))
	}
	for class := range openSpan {
		ended = append(ended, int64(class))
	}
	var found, last int64
	err = db.QueryRowContext(ctx, `SELECT COALESCE(MIN(CASE WHEN total >= $1 THEN valid_to END), 0), COALESCE(MAX(valid_to), 0) FROM (
		SELECT r.valid_to AS valid_to, SUM(r.size) OVER (ORDER BY r.valid_to) AS total FROM inventory_rows r
		WHERE r.cluster = $2 AND `+numbersIn("r.kind", kinds)+` AND `+numbersIn("r.span", ended)+` AND r.valid_to <= $3) t`, bytes, row.id, row.asOf).Scan(&found, &last)
	if err != nil {
		return 0, false, fmt.Errorf("find the oldest history: %w", err)
	}
	switch {
	case found != 0:
		return found + 1, true, nil
	case last != 0:
		return last + 1, false, nil
	}
	return 0, false, nil
}

// short says that a cluster has less history than others; "" where it has not.
func short(keptSince, most int64) string {
	if keptSince == 0 {
		return ""
	}
	return fmt.Sprintf("it changes more than is kept, %d MiB: its history begins at %s", most>>20, database.FromTime(keptSince).Format(time.RFC3339))
}
