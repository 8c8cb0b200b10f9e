package inventory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// errOvertaken says that other changes of the cluster were begun meanwhile.
var errOvertaken = errors.New("other changes of this cluster were begun meanwhile")

// Apply writes what became known of a cluster. Whether it is watched, Confirm and Lost say: a part of it may be, and another not. The same changes again change nothing. Many changes are written in several
// transactions; readers see none of them before the last, and what a crash left of them is taken back before others are written.
// Its error is an [*invalid.Error] where the changes are none, and where the cluster has left the fleet.
func (s *Store) Apply(ctx context.Context, c Cluster, changes Changes) error {
	if err := s.apply(ctx, c, changes); err != nil {
		return fmt.Errorf("keep what was observed in cluster %s: %w", fit(c.Name, maxName), err)
	}
	return nil
}

func (s *Store) apply(ctx context.Context, c Cluster, changes Changes) error {
	c, err := c.fit()
	if err != nil {
		return err
	}
	want, dropped, err := changes.fit(s.limits.items)
	if err != nil {
		return err
	}
	w := writing{want: want, at: database.Time(changes.At), limits: s.limits, dropped: dropped}
	if w.at <= 0 {
		return invalid.New("at", "is not a time after 1970; want when it was observed")
	}
	if len(want.set) > s.limits.batch {
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := s.makeReady(ctx, c.UID); err != nil {
		return err
	}
	if err := write(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error { return w.begin(ctx, tx, c) }); err != nil {
		return err
	}
	for !w.done {
		if err := write(ctx, s.db, w.next); err != nil {
			return err
		}
	}
	return nil
}

// largeAtOnce is how many changes of more than a batch are written at once. Of many, such as the first lists of a whole fleet, a few come to their end
// and the others wait before they begin.
const largeAtOnce = 2

// writeWithin bounds a transaction, and its wait for others. Changes have no bound as a whole: those that had to wait for others would be given up half
// written, taken back and begun again, and none would come to its end.
const writeWithin = 30 * time.Second

func write(ctx context.Context, db *database.DB, act func(context.Context, *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	return db.Do(ctx, lock, func(tx *sql.Tx) error { return act(ctx, tx) })
}

// makeReady removes what stands in the way of changes: what a crash left of others, and history that is too much.
func (s *Store) makeReady(ctx context.Context, uid string) error {
	var row clusterRow
	err := s.read(ctx, func(tx *sql.Tx) (err error) {
		row, _, err = readCluster(ctx, tx, uid)
		return err
	})
	switch {
	case err != nil:
		return err
	case row.pending != 0:
		return s.takeBack(ctx, uid)
	case row.bytes > s.limits.bytes:
		return s.trim(ctx, row)
	}
	return nil
}

// writing is changes on their way into the database.
type writing struct {
	want    wanted
	at      int64
	limits  limits
	dropped map[Kind]bool

	cluster clusterRow
	plan    plan
	// touched are the subjects that come and go.
	touched map[subjectKey]bool
	done    bool
}

// begin compares, and writes all of it where that is not much.
func (w *writing) begin(ctx context.Context, tx *sql.Tx, c Cluster) error {
	row, err := know(ctx, tx, c)
	if err != nil {
		return err
	}
	switch {
	case row.ended != 0:
		return invalid.New("cluster", "has left the fleet; want one that is in it: a cluster that comes again has another UID")
	case row.pending != 0:
		return errOvertaken
	}
	w.cluster, w.touched = row, map[subjectKey]bool{}
	w.at = max(w.at, row.asOf)
	rows, err := readCurrent(ctx, tx, row.id, w.want)
	if err != nil {
		return err
	}
	counts, err := readCounts(ctx, tx, row.id)
	if err != nil {
		return err
	}
	var dropped map[Kind]bool
	left := func(kind Kind) int { return w.limits.items - counts[kind] }
	if row.bytes > w.limits.bytes { // with all that is history removed
		left = func(Kind) int { return 0 }
	}
	w.plan, dropped, err = diff(rows, w.want, left)
	if err != nil {
		return err
	}
	maps.Copy(w.dropped, dropped)
	if len(w.plan.close)+len(w.plan.open) <= w.limits.batch {
		return w.write(ctx, tx)
	}
	// Behind all that is known, so that no reader sees it and what there is of it can be told from the rest.
	w.at = max(w.at, row.asOf+resumeMargin)
	w.cluster.pending, w.cluster.generation = w.at, row.generation+1
	_, err = tx.ExecContext(ctx, `UPDATE inventory_clusters SET pending = $1, generation = $2 WHERE id = $3`,
		w.at, w.cluster.generation, row.id)
	return err
}

// next writes a batch of the plan after it was begun.
func (w *writing) next(ctx context.Context, tx *sql.Tx) error {
	var pending, generation int64
	err := tx.QueryRowContext(ctx, `SELECT pending, generation FROM inventory_clusters WHERE id = $1`, w.cluster.id).Scan(&pending, &generation)
	if err != nil {
		return err
	}
	if pending != w.at || generation != w.cluster.generation {
		return errOvertaken
	}
	return w.write(ctx, tx)
}

// write writes a batch, and says that it is known with the last one. The plan is shorter only when that is committed or given up.
func (w *writing) write(ctx context.Context, tx *sql.Tx) error {
	closing := w.plan.close[:min(len(w.plan.close), w.limits.batch)]
	opening := w.plan.open[:min(len(w.plan.open), w.limits.batch-len(closing))]
	if err := closeRows(ctx, tx, w.cluster.id, closing, w.at, w.touched); err != nil {
		return fmt.Errorf("close rows: %w", err)
	}
	if err := openRows(ctx, tx, w.cluster.id, opening, w.at, w.touched); err != nil {
		return fmt.Errorf("open rows: %w", err)
	}
	w.plan.close, w.plan.open = w.plan.close[len(closing):], w.plan.open[len(opening):]
	if len(w.plan.close)+len(w.plan.open) > 0 {
		return nil
	}
	w.done = true
	return w.finish(ctx, tx)
}

// finish makes the changes known.
func (w *writing) finish(ctx context.Context, tx *sql.Tx) error {
	if err := markSeen(ctx, tx, w.cluster.id, w.touched, w.at); err != nil {
		return fmt.Errorf("note when images were seen: %w", err)
	}
	kinds := map[Kind]bool{}
	for _, kind := range w.want.whole {
		kinds[kind] = true
	}
	for kind := range w.plan.delta {
		kinds[kind] = true
	}
	maps.Copy(kinds, w.dropped)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		// A whole list says anew whether there are too many; until then what was dropped is missing.
		_, err := tx.ExecContext(ctx, `INSERT INTO inventory_kinds (cluster, kind, items, dropped) VALUES ($1, $2, $3, $4)
			ON CONFLICT (cluster, kind) DO UPDATE SET items = inventory_kinds.items + excluded.items,
			dropped = CASE WHEN $5 = 1 THEN excluded.dropped ELSE inventory_kinds.dropped OR excluded.dropped END`,
			w.cluster.id, numbers[kind], w.plan.delta[kind], w.dropped[kind], boolNumber(slices.Contains(w.want.whole, kind)))
		if err != nil {
			return fmt.Errorf("count items: %w", err)
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE inventory_clusters SET as_of = $1, since = CASE WHEN since = 0 THEN $1 ELSE since END,
		pending = 0 WHERE id = $2`, w.at, w.cluster.id)
	return err
}

func boolNumber(b bool) int {
	if b {
		return 1
	}
	return 0
}

// takeBack removes what a crash left of changes that were not written to their end, as if they had never been.
func (s *Store) takeBack(ctx context.Context, uid string) error {
	for more := true; more; {
		err := write(ctx, s.db, func(ctx context.Context, tx *sql.Tx) (err error) {
			more, err = takeBackBatch(ctx, tx, uid, s.limits.batch)
			return err
		})
		if err != nil {
			return fmt.Errorf("take back what was begun: %w", err)
		}
	}
	return nil
}

func takeBackBatch(ctx context.Context, tx *sql.Tx, uid string, batch int) (more bool, err error) {
	row, found, err := readCluster(ctx, tx, uid)
	if err != nil || !found || row.pending == 0 {
		return false, err
	}
	// The one that writes them, if it still does, fails from here on.
	if _, err := tx.ExecContext(ctx, `UPDATE inventory_clusters SET generation = generation + 1 WHERE id = $1`, row.id); err != nil {
		return false, err
	}
	id := func(rows *sql.Rows, to *int64) error { return rows.Scan(to) }
	const opened = `SELECT id FROM inventory_rows WHERE cluster = $1 AND kind = $2 AND span = $3 AND valid_from > $4 LIMIT $5`
	for _, kind := range numbers {
		ids, err := collect(ctx, tx, opened, []any{row.id, kind, openSpan, row.asOf, batch}, id)
		if err != nil {
			return false, err
		}
		if len(ids) > 0 {
			return true, removeRows(ctx, tx, row.id, ids)
		}
	}
	for _, kind := range numbers {
		// Rows that end after what is known were closed by the changes. Their class says how long before they began at most.
		ids, err := collect(ctx, tx, `SELECT r.id FROM `+spanTable()+` CROSS JOIN inventory_rows r WHERE p.span < $1 AND r.cluster = $2
			AND r.kind = $3 AND r.span = p.span AND r.valid_from > $4 - p.width AND r.valid_to > $4 LIMIT $5`,
			[]any{openSpan, row.id, kind, row.asOf, batch}, id)
		if err != nil {
			return false, err
		}
		if len(ids) > 0 {
			_, err := tx.ExecContext(ctx, `UPDATE inventory_rows SET valid_to = `+openSQL+`, span = $1 WHERE `+numbersIn("id", ids), openSpan)
			return true, err
		}
	}
	if err := countItems(ctx, tx, row.id); err != nil {
		return false, err
	}
	_, err = tx.ExecContext(ctx, `UPDATE inventory_clusters SET pending = 0 WHERE id = $1`, row.id)
	return false, err
}
