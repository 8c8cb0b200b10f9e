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
			page.Next = encodeCursor(q, changes[a.Limit-1].key[:])
		}
		page.AsOf = a.asOf(clusters)
		page.Rows, err = counted(ctx, tx, begin, end, changes)
		return err
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

// side reads which groups there were at one of the two times, in their order, a part at a time.
type side[T any] struct {
	*grouping[T]

	asked    *asked
	narrow   bool
	position []string
	ahead    [][3]string
	ended    bool
}

// next returns the next group; false where there is none.
func (s *side[T]) next(ctx context.Context, q querier) (key [3]string, found bool, err error) {
	if len(s.ahead) == 0 && !s.ended {
		keys, err := s.keys(ctx, q, s.asked, s.narrow, s.position, s.asked.Limit+1)
		if err != nil {
			return key, false, err
		}
		s.ahead, s.ended = keys, len(keys) <= s.asked.Limit
	}
	if len(s.ahead) == 0 {
		return key, false, nil
	}
	return s.ahead[0], true, nil
}

func (s *side[T]) skip() {
	s.position, s.ahead = s.ahead[0][:], s.ahead[1:]
}

// changed is a group that appeared or vanished.
type changed struct {
	appeared bool
	key      [3]string
}

// merge compares what there is on both sides until it has so many changes.
func merge[T any](ctx context.Context, q querier, begin, end *side[T], limit int) ([]changed, error) {
	var out []changed
	for len(out) < limit {
		before, was, err := begin.next(ctx, q)
		if err != nil {
			return nil, err
		}
		after, is, err := end.next(ctx, q)
		if err != nil {
			return nil, err
		}
		if !was && !is {
			break
		}
		switch order := slices.Compare(before[:], after[:]); {
		case was && (!is || order < 0):
			out = append(out, changed{key: before})
			begin.skip()
		case is && (!was || order > 0):
			out = append(out, changed{appeared: true, key: after})
			end.skip()
		default:
			begin.skip()
			end.skip()
		}
	}
	return out, nil
}

// counted reads the rows of groups that changed, and of no others: those of what vanished as at the begin.
func counted[T any](ctx context.Context, q querier, begin, end *side[T], changes []changed) ([]Change[T], error) {
	rows := make([]T, len(changes))
	for _, one := range []struct {
		*side[T]

		appeared bool
	}{{begin, false}, {end, true}} {
		var keys [][3]string
		for _, change := range changes {
			if change.appeared == one.appeared {
				keys = append(keys, change.key)
			}
		}
		found, err := one.count(ctx, q, one.asked, one.narrow, keys)
		if err != nil {
			return nil, err
		}
		for n, change := range changes {
			if change.appeared == one.appeared {
				rows[n] = found[change.key]
			}
		}
	}
	if err := begin.readSeen(ctx, q, begin.asked, rows); err != nil {
		return nil, err
	}
	out := make([]Change[T], 0, len(changes))
	for n, change := range changes {
		out = append(out, Change[T]{Appeared: change.appeared, Row: rows[n]})
	}
	return out, nil
}
