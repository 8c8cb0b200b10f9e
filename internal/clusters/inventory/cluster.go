package inventory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
)

// clusterRow is a cluster as it is kept.
type clusterRow struct {
	id                   int64
	organization, name   string
	labels               string
	asOf, ended, pending int64
	generation, bytes    int64
}

func readCluster(ctx context.Context, tx *sql.Tx, uid string) (row clusterRow, found bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT id, organization, name, labels, as_of, ended, pending, generation, bytes FROM inventory_clusters WHERE uid = $1`, uid).
		Scan(&row.id, &row.organization, &row.name, &row.labels, &row.asOf, &row.ended, &row.pending, &row.generation, &row.bytes)
	if errors.Is(err, sql.ErrNoRows) {
		return row, false, nil
	}
	if err != nil {
		return row, false, fmt.Errorf("read the cluster: %w", err)
	}
	return row, true, nil
}

// know writes what a cluster is called, where that is not known, and returns its row.
func know(ctx context.Context, tx *sql.Tx, c Cluster) (clusterRow, error) {
	raw, err := json.Marshal(c.Labels)
	if err != nil {
		return clusterRow{}, fmt.Errorf("write labels: %w", err)
	}
	labels := string(raw)
	row, found, err := readCluster(ctx, tx, c.UID)
	switch {
	case err != nil:
		return row, err
	case found && row.organization == c.Organization && row.name == c.Name && row.labels == labels:
		return row, nil
	case found:
		_, err = tx.ExecContext(ctx, `UPDATE inventory_clusters SET organization = $1, name = $2, labels = $3 WHERE id = $4`,
			c.Organization, c.Name, labels, row.id)
	default:
		err = tx.QueryRowContext(ctx, `INSERT INTO inventory_clusters (uid, organization, name, labels, since, as_of, live, message, ended, pending, generation)
			VALUES ($1, $2, $3, $4, 0, 0, $5, '', 0, 0, 0) RETURNING id`, c.UID, c.Organization, c.Name, labels, false).Scan(&row.id)
	}
	if err != nil {
		return row, fmt.Errorf("write the cluster: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM inventory_labels WHERE cluster = $1`, row.id); err != nil {
		return row, fmt.Errorf("write labels: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		_, err := tx.ExecContext(ctx, `INSERT INTO inventory_labels (cluster, name, value) VALUES ($1, $2, $3)`, row.id, key, c.Labels[key])
		if err != nil {
			return row, fmt.Errorf("write labels: %w", err)
		}
	}
	return row, nil
}

// Know takes over what clusters are called and labelled. It neither adds nor removes observations.
func (s *Store) Know(ctx context.Context, clusters []Cluster) error {
	for part := range slices.Chunk(clusters, chunk) {
		err := s.db.Do(ctx, lock, func(tx *sql.Tx) error {
			for _, c := range part {
				c, err := c.fit()
				if err != nil {
					return err
				}
				if _, err := know(ctx, tx, c); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("keep what clusters are called: %w", err)
		}
	}
	return nil
}

// Confirm says that what is known of these clusters was so until at, and that they are watched; a message that Lost has left before stays: it
// names what of them is not seen. It leaves out those of which changes are being written, and
// those of which nothing was observed yet.
func (s *Store) Confirm(ctx context.Context, at time.Time, live []string) error {
	err := s.db.Do(ctx, lock, func(tx *sql.Tx) error {
		for part := range slices.Chunk(live, 5*chunk) {
			var st statement
			now, yes := st.arg(database.Time(at)), st.arg(true)
			_, err := tx.ExecContext(ctx, `UPDATE inventory_clusters SET as_of = CASE WHEN as_of < `+now+` THEN `+now+` ELSE as_of END,
				live = `+yes+` WHERE since > 0 AND ended = 0 AND pending = 0 AND `+in(&st, "uid", part), st.args...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("confirm what is known of %d clusters: %w", len(live), err)
	}
	return nil
}

// Lost says that a cluster is not watched any more, and why. What was seen last stays.
func (s *Store) Lost(ctx context.Context, uid, message string) error {
	err := s.db.Do(ctx, lock, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE inventory_clusters SET live = $1, message = $2 WHERE uid = $3`, false, fit(message, maxLong), fit(uid, maxWord))
		return err
	})
	if err != nil {
		return fmt.Errorf("keep that a cluster is not watched: %w", err)
	}
	return nil
}

// End says that a cluster left the fleet: all that was in it ends. Readers see that at once, and rows follow in batches; after a
// crash the next End or Prune goes on.
func (s *Store) End(ctx context.Context, uid string, at time.Time) error {
	if err := s.end(ctx, uid, database.Time(at)); err != nil {
		return fmt.Errorf("end what was observed in a cluster: %w", err)
	}
	return nil
}

func (s *Store) end(ctx context.Context, uid string, at int64) error {
	if err := s.takeBack(ctx, uid); err != nil {
		return err
	}
	var row clusterRow
	err := s.db.Do(ctx, lock, func(tx *sql.Tx) (err error) {
		var found bool
		if row, found, err = readCluster(ctx, tx, uid); err != nil || !found || row.ended != 0 {
			return err
		}
		if row.pending != 0 {
			return errOvertaken
		}
		row.ended = max(at, row.asOf, 1)
		if _, err := tx.ExecContext(ctx, `UPDATE inventory_clusters SET ended = $1, as_of = $1, live = $2, message = '' WHERE id = $3`,
			row.ended, false, row.id); err != nil {
			return err
		}
		// What came at that moment was there for no time at all.
		if _, err := tx.ExecContext(ctx, `DELETE FROM inventory_seen WHERE cluster = $1 AND first_seen >= $2`, row.id, row.ended); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE inventory_seen SET last_seen = $1 WHERE cluster = $2 AND last_seen = `+openSQL, row.ended, row.id)
		return err
	})
	if err != nil || row.ended == 0 {
		return err
	}
	return s.endRows(ctx, row.id, row.ended)
}

// endRows closes the rows of a cluster that left.
func (s *Store) endRows(ctx context.Context, cluster, at int64) error {
	for more := true; more; {
		err := s.db.Do(ctx, lock, func(tx *sql.Tx) error {
			rows, err := collect(ctx, tx, `SELECT id, valid_from FROM inventory_rows WHERE cluster = $1 AND valid_to = `+openSQL+` LIMIT $2`,
				[]any{cluster, s.limits.batch}, func(rows *sql.Rows, to *current) error { return rows.Scan(&to.id, &to.from) })
			if err != nil {
				return err
			}
			more = len(rows) == s.limits.batch
			return closeRows(ctx, tx, cluster, rows, at, nil)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
