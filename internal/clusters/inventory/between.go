package inventory

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// ImagesBetween returns the images that appeared or vanished between two times: a row is as it was at the end, and for what vanished
// as at the begin. Filter.At is not used.
func (s *Store) ImagesBetween(ctx context.Context, f Filter, from, to time.Time) (Page[Change[ImageRow]], error) {
	return between(ctx, s, &images, f, from, to)
}

// BinariesBetween returns the same for versions of components.
func (s *Store) BinariesBetween(ctx context.Context, f Filter, from, to time.Time) (Page[Change[BinaryRow]], error) {
	return between(ctx, s, &binaries, f, from, to)
}

func between[T any](ctx context.Context, s *Store, g *grouping[T], f Filter, from, to time.Time) (page Page[Change[T]], err error) {
	if err := checkTimes(from, to); err != nil {
		return page, err
	}
	f.At = from // clusters that had not left at the begin
	err = s.ask(ctx, f, func(a *asked, tx *sql.Tx, clusters []ClusterState) error {
		q, err := question(g.name+" between", f, to)
		if err != nil {
			return err
		}
		position, err := decodeCursor(q, f.Cursor, len(g.columns))
		if err != nil {
			return err
		}
		narrow := len(clusters) <= s.limits.narrow
		later := *a
		later.at = to.UnixMicro()
		for _, one := range []*asked{a, &later} {
			if err := one.choose(ctx, tx, g.kind, !narrow); err != nil {
				return err
			}
		}
		begin := &side[T]{grouping: g, asked: a, narrow: narrow, position: position}
		end := &side[T]{grouping: g, asked: &later, narrow: narrow, position: position}
		changes, err := merge(ctx, tx, begin, end, a.Limit+1)
		if err != nil {
			return err
		}
		if len(changes) > a.Limit {
			changes = changes[:a.Limit]
			last := g.key(changes[a.Limit-1].Row)
			page.Next = encodeCursor(q, last[:])
		}
		rows := make([]T, 0, len(changes))
		for _, change := range changes {
			rows = append(rows, change.Row)
		}
		if err := g.readSeen(ctx, tx, a, rows); err != nil {
			return err
		}
		for n := range changes {
			changes[n].Row = rows[n]
		}
		page.Rows, page.AsOf = changes, a.asOf(clusters)
		return nil
	})
	if err != nil {
		return Page[Change[T]]{}, fmt.Errorf("compare %s: %w", g.name, err)
	}
	return page, nil
}

func checkTimes(from, to time.Time) error {
	if err := checkTime("from", from); err != nil {
		return err
	}
	if err := checkTime("to", to); err != nil {
		return err
	}
	if to.Before(from) {
		return invalid.New("to", "is before from; want the later one of the two times")
	}
	return nil
}

// side reads the groups that there were at one of the two times, in their order, a part at a time.
type side[T any] struct {
	*grouping[T]

	asked    *asked
	narrow   bool
	position []string
	rows     []T
	ended    bool
}

// next returns the next group; nil where there is none.
func (s *side[T]) next(ctx context.Context, q querier) (*T, error) {
	if len(s.rows) == 0 && !s.ended {
		rows, err := s.read(ctx, q, s.asked, s.narrow, s.position, s.asked.Limit+1)
		if err != nil {
			return nil, err
		}
		s.rows, s.ended = rows, len(rows) <= s.asked.Limit
	}
	if len(s.rows) == 0 {
		return nil, nil
	}
	return &s.rows[0], nil
}

func (s *side[T]) skip() {
	key := s.key(s.rows[0])
	s.position, s.rows = key[:], s.rows[1:]
}

// merge compares what there is on both sides until it has so many changes.
func merge[T any](ctx context.Context, q querier, begin, end *side[T], limit int) ([]Change[T], error) {
	var out []Change[T]
	for len(out) < limit {
		before, err := begin.next(ctx, q)
		if err != nil {
			return nil, err
		}
		after, err := end.next(ctx, q)
		if err != nil {
			return nil, err
		}
		if before == nil && after == nil {
			break
		}
		switch order := compareGroups(begin.grouping, before, after); {
		case order < 0:
			out = append(out, Change[T]{Row: *before})
			begin.skip()
		case order > 0:
			out = append(out, Change[T]{Appeared: true, Row: *after})
			end.skip()
		default:
			begin.skip()
			end.skip()
		}
	}
	return out, nil
}

// compareGroups has what is not there behind all others.
func compareGroups[T any](g *grouping[T], a, b *T) int {
	switch {
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	left, right := g.key(*a), g.key(*b)
	return slices.Compare(left[:], right[:])
}
