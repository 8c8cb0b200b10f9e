package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// maxBatch is how many records one transaction appends.
	maxBatch = 100
	// writeTimeout bounds a transaction, which serves more callers than the one who runs it.
	writeTimeout = 30 * time.Second
)

// entry is a record on its way into the log.
type entry struct {
	record Record
	// begins is the name under which the action is noted and not yet recorded; ends is the name of the one that is
	// recorded now and forgotten. With once, it is recorded only where it is still to be forgotten.
	begins, ends string
	once         bool
	// drops says that what ends is not recorded.
	drops bool
	err   error
	done  chan struct{} // closed when record and err are final
}

// Append appends a record and returns it as it is kept, with its sequence, time and hashes, which the caller leaves
// empty. When it returns an error the record is not there, unless the connection broke while it was committed.
// It is an [*invalid.Error] where the record is not one, and a [*BrokenError] where the log was tampered with: nothing
// is appended to such a log, because that would hide the place.
//
// Records that wait at the same time are written in one transaction, so that many callers wait for the disk once.
// A caller whose context ends takes its record back as long as no transaction has begun with it, and else waits.
func (l *Log) Append(ctx context.Context, r Record) (Record, error) {
	return l.append(ctx, &entry{record: r})
}

func (l *Log) append(ctx context.Context, e *entry) (Record, error) {
	err := e.record.normalize()
	if err == nil {
		err = l.write(ctx, e)
	}
	if err != nil {
		return Record{}, fmt.Errorf("append record: %w", err)
	}
	return e.record, nil
}

// write waits until the entry is in the database.
func (l *Log) write(ctx context.Context, e *entry) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	e.done = make(chan struct{})
	l.mu.Lock()
	l.waiting = append(l.waiting, e)
	l.mu.Unlock()
	for {
		select {
		case <-e.done:
			return e.err
		case l.writing <- struct{}{}:
			l.writeWaiting(ctx)
		case <-ctx.Done():
			if l.takeBack(e) {
				return context.Cause(ctx)
			}
			<-e.done
		}
	}
}

// takeBack says whether the entry is not being written, and will not be.
func (l *Log) takeBack(e *entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, e)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// writeWaiting writes the records that have waited longest, and lets go of writing. It goes on when its caller is gone:
// others wait for it.
func (l *Log) writeWaiting(ctx context.Context) {
	defer func() { <-l.writing }()
	l.mu.Lock()
	batch := slices.Clone(l.waiting[:min(len(l.waiting), maxBatch)])
	l.waiting = slices.Delete(l.waiting, 0, len(batch))
	l.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err := errors.New("the transaction ended early") // stays when it panics: no caller waits for ever
	defer func() {
		for _, e := range batch {
			e.err = err
			close(e.done)
		}
	}()
	var head Head
	err = l.db.Do(ctx, lock, func(tx *sql.Tx) (err error) {
		head, err = l.writeAll(ctx, tx, batch)
		return err
	})
	if err == nil {
		l.remember(head)
	}
}

// writeAll gives the entries their places, and writes them and the head that they lead to.
func (l *Log) writeAll(ctx context.Context, tx *sql.Tx, batch []*entry) (Head, error) {
	begin, err := l.currentHead(ctx, tx)
	if err != nil {
		return Head{}, err
	}
	if err := checkEnd(ctx, tx, begin); err != nil {
		return Head{}, err
	}
	head := begin
	for _, e := range batch {
		if head, err = l.writeOne(ctx, tx, e, head); err != nil {
			return Head{}, err
		}
	}
	if head == begin {
		return head, nil
	}
	_, err = tx.ExecContext(ctx, `UPDATE audit_head SET sequence = $1, hash = $2, signature = $3 WHERE id = 1`,
		head.Sequence, head.Hash, l.keys.signHead(head))
	return head, err
}

// writeOne returns the head that there is after the entry.
func (l *Log) writeOne(ctx context.Context, tx *sql.Tx, e *entry, head Head) (Head, error) {
	if e.begins != "" {
		return head, l.note(ctx, tx, e)
	}
	if e.ends != "" {
		underWay, err := forget(ctx, tx, e.ends)
		if err != nil || e.drops || e.once && !underWay {
			return head, err
		}
	}
	e.record.Time = l.now().UTC().Truncate(time.Microsecond)
	head = l.keys.link(&e.record, head)
	return head, writeRecord(ctx, tx, e.record)
}

// checkEnd returns a [*BrokenError] where the last record is not the one that the head names.
func checkEnd(ctx context.Context, tx *sql.Tx, head Head) error {
	last := Head{Sequence: 0, Hash: origin}
	err := tx.QueryRowContext(ctx, `SELECT sequence, hash FROM audit_records ORDER BY sequence DESC LIMIT 1`).
		Scan(&last.Sequence, &last.Hash)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return err
	case last.Sequence > head.Sequence:
		return broken(head.Sequence+1, last.Sequence, Beyond)
	case last.Sequence < head.Sequence:
		return broken(last.Sequence+1, head.Sequence, Missing)
	case last.Hash != head.Hash:
		return broken(head.Sequence, head.Sequence, HeadUnlike)
	}
	return nil
}
