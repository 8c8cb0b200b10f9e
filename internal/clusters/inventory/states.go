package inventory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
)

// Clusters says how well the clusters that the filter takes are known, by organization and name.
func (s *Store) Clusters(ctx context.Context, f Filter) (out []ClusterState, err error) {
	err = s.ask(ctx, f, func(_ *asked, _ *sql.Tx, clusters []ClusterState) error {
		out = clusters
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find clusters: %w", err)
	}
	return out, nil
}

// ask checks a filter, and calls act with a snapshot and the clusters in it that the filter takes, in the order of the database.
func (s *Store) ask(ctx context.Context, f Filter, act func(a *asked, tx *sql.Tx, clusters []ClusterState) error) error {
	a, err := f.check()
	if err != nil {
		return err
	}
	a.limits = s.limits
	return s.read(ctx, func(tx *sql.Tx) error {
		clusters, pending, err := s.states(ctx, tx, &a)
		if err != nil {
			return err
		}
		// Changes that are being written have closed rows which readers see until the last of them is written.
		a.everySpan = a.everySpan || pending
		return act(&a, tx, clusters)
	})
}

// states reads the clusters that had not left then; pending says that changes of one of them are being written.
func (s *Store) states(ctx context.Context, q querier, a *asked) (_ []ClusterState, pending bool, err error) {
	var st statement
	now := s.now()
	type state struct {
		ClusterState
		id, keptSince int64
	}
	rows, err := collect(ctx, q, `SELECT c.id, c.uid, c.organization, c.name, c.labels, c.since, c.as_of, c.live, c.message, c.ended, c.pending, c.kept_since
		FROM inventory_clusters c WHERE `+a.clusters(&st)+` AND `+a.present(&st)+` ORDER BY c.organization, c.name, c.uid`, st.args,
		func(rows *sql.Rows, to *state) error {
			var labels string
			var since, asOf, ended, begun int64
			err := rows.Scan(&to.id, &to.UID, &to.Organization, &to.Name, &labels, &since, &asOf, &to.Live, &to.Message, &ended, &begun, &to.keptSince)
			if err != nil {
				return err
			}
			to.Since, to.AsOf, to.Ended = database.FromTime(since), database.FromTime(asOf), database.FromTime(ended)
			pending = pending || begun != 0
			if to.Live && now.Sub(to.AsOf) > unconfirmed {
				to.Live, to.Message = false, "it was not confirmed since then that it is watched"
			}
			return json.Unmarshal([]byte(labels), &to.Labels)
		})
	if err != nil {
		return nil, false, err
	}
	dropped, err := droppedKinds(ctx, q, a)
	if err != nil {
		return nil, false, err
	}
	out := make([]ClusterState, 0, len(rows))
	for _, row := range rows {
		more := []string{row.Message, short(row.keptSince, s.limits.bytes)}
		if kinds := dropped[row.id]; len(kinds) > 0 {
			more = append(more, fmt.Sprintf("there are more items than are kept, %d of a kind or %d MiB: %s", s.limits.items, s.limits.bytes>>20, strings.Join(kinds, ", ")))
		}
		row.Message = strings.Join(slices.DeleteFunc(more, func(part string) bool { return part == "" }), "; ")
		out = append(out, row.ClusterState)
	}
	return out, pending, nil
}

// droppedKinds are the kinds of which a cluster has more items than are kept.
func droppedKinds(ctx context.Context, q querier, a *asked) (map[int64][]string, error) {
	type kindOfCluster struct {
		cluster int64
		kind    int
	}
	var s statement
	rows, err := collect(ctx, q, `SELECT k.cluster, k.kind FROM inventory_kinds k JOIN inventory_clusters c ON c.id = k.cluster
		WHERE k.dropped = `+s.arg(true)+` AND `+a.clusters(&s)+` ORDER BY k.cluster, k.kind`, s.args,
		func(rows *sql.Rows, to *kindOfCluster) error { return rows.Scan(&to.cluster, &to.kind) })
	out := map[int64][]string{}
	for _, row := range rows {
		out[row.cluster] = append(out[row.cluster], string(kindOf(row.kind)))
	}
	return out, err
}

// asOf is the clusters, oldest knowledge first.
func (a *asked) asOf(clusters []ClusterState) []ClusterState {
	out := slices.Clone(clusters)
	slices.SortStableFunc(out, func(a, b ClusterState) int { return a.AsOf.Compare(b.AsOf) })
	return out
}

// compareClusters compares a cluster with that of a position.
func compareClusters(c ClusterState, position []string) int {
	return cmp.Or(strings.Compare(c.Organization, position[0]), strings.Compare(c.Name, position[1]), strings.Compare(c.UID, position[2]))
}

// seenTime is when something was last seen; zero while it is there.
func seenTime(last int64) time.Time {
	if last == open {
		return time.Time{}
	}
	return database.FromTime(last)
}
