package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Position returns how far a source of records was read, in the source's own words; empty where it never was.
func (l *Log) Position(ctx context.Context, source string) (string, error) {
	var position, signature string
	err := l.db.QueryRowContext(ctx, `SELECT position, signature FROM audit_sources WHERE name = $1`, source).Scan(&position, &signature)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read how far %s was read: %w", source, err)
	case !same(signature, l.keys.signAside("source", source, position)):
		return "", fmt.Errorf("read how far %s was read: it is not signed with the key of this log", source)
	}
	return position, nil
}

// AppendFrom appends what a source said, and remembers how far it was read: both or neither, so that after a crash
// nothing is missing and nothing stands there twice. Its errors are those of [Log.Append].
func (l *Log) AppendFrom(ctx context.Context, source, position string, records []Record) error {
	batch := make([]*entry, 0, len(records))
	for _, r := range records {
		if err := r.normalize(); err != nil {
			return fmt.Errorf("append records of %s: %w", source, err)
		}
		batch = append(batch, &entry{record: r})
	}
	var head Head
	err := l.db.Do(ctx, lock, func(tx *sql.Tx) (err error) {
		if head, err = l.writeAll(ctx, tx, batch); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO audit_sources (name, position, signature) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET position = excluded.position, signature = excluded.signature`,
			source, position, l.keys.signAside("source", source, position))
		return err
	})
	if err != nil {
		return fmt.Errorf("append records of %s: %w", source, err)
	}
	l.remember(head)
	return nil
}
