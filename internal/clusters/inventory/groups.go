package inventory

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
)

// grouping is how rows of a kind are counted together: by three columns of their subjects, whose order is that of the answer.
type grouping[T any] struct {
	name    string
	kind    Kind
	columns [3]string
	// first is what is read of one of the subjects. counted is how many there are of rows r beside clusters; empty where it is the rows.
	first, counted string
	// subjectTable, with its alias, and the condition of its rows.
	table     string
	condition func(a *asked, s *statement) string
	// row makes a row, and key says of which group it is.
	row func(key [3]string, first string, clusters, counted int) T
	key func(T) [3]string
	// seen sets when it was first and last seen.
	seen func(row *T, first, last time.Time)
}

var images = grouping[ImageRow]{
	name: "images", kind: KindContainer, columns: [3]string{"i.repository", "i.tag", "i.digest"}, first: "i.reference",
	table: "inventory_images i", condition: (*asked).images,
	row: func(key [3]string, first string, clusters, counted int) ImageRow {
		return ImageRow{
			Image:    Image{Reference: first, Repository: key[0], Tag: key[1], Digest: key[2]},
			Clusters: clusters, Containers: counted,
		}
	},
	key:  func(r ImageRow) [3]string { return [3]string{r.Image.Repository, r.Image.Tag, r.Image.Digest} },
	seen: func(r *ImageRow, first, last time.Time) { r.First, r.Last = first, last },
}

var binaries = grouping[BinaryRow]{
	name: "binaries", kind: KindComponent,
	columns: [3]string{"b.component", "b.version", "CASE WHEN b.managed = (1=1) THEN '1' ELSE '0' END"}, first: "b.component",
	counted: "COUNT(DISTINCT CASE WHEN r.name <> '' THEN CAST(r.cluster AS TEXT) || '/' || r.name END)",
	table:   "inventory_binaries b", condition: (*asked).binaryCondition,
	row: func(key [3]string, _ string, clusters, counted int) BinaryRow {
		return BinaryRow{Component: key[0], Version: key[1], Managed: key[2] == "1", Clusters: clusters, Nodes: counted}
	},
	key: func(r BinaryRow) [3]string {
		return [3]string{r.Component, r.Version, strconv.Itoa(boolNumber(r.Managed))}
	},
	seen: func(r *BinaryRow, first, last time.Time) { r.First, r.Last = first, last },
}

// Images returns the images of containers that the filter takes, by repository, tag and digest.
func (s *Store) Images(ctx context.Context, f Filter) (Page[ImageRow], error) {
	return grouped(ctx, s, &images, f)
}

// Binaries returns the versions of components that the filter takes, by component and version.
func (s *Store) Binaries(ctx context.Context, f Filter) (Page[BinaryRow], error) {
	return grouped(ctx, s, &binaries, f)
}

func grouped[T any](ctx context.Context, s *Store, g *grouping[T], f Filter) (page Page[T], err error) {
	err = s.ask(ctx, f, func(a *asked, tx *sql.Tx, clusters []ClusterState) error {
		q, err := question(g.name, f)
		if err != nil {
			return err
		}
		position, err := decodeCursor(q, f.Cursor, len(g.columns))
		if err != nil {
			return err
		}
		narrow := len(clusters) <= s.limits.narrow
		if err := a.choose(ctx, tx, g.kind, !narrow); err != nil {
			return err
		}
		keys, err := g.keys(ctx, tx, a, narrow, position, a.Limit+1)
		if err != nil {
			return err
		}
		if len(keys) > a.Limit {
			keys = keys[:a.Limit]
			page.Next = encodeCursor(q, keys[a.Limit-1][:])
		}
		counted, err := g.count(ctx, tx, a, narrow, keys)
		if err != nil {
			return err
		}
		page.Rows, page.AsOf = make([]T, 0, len(keys)), a.asOf(clusters)
		for _, key := range keys {
			page.Rows = append(page.Rows, counted[key])
		}
		return g.readSeen(ctx, tx, a, page.Rows)
	})
	if err != nil {
		return Page[T]{}, fmt.Errorf("find %s: %w", g.name, err)
	}
	return page, nil
}

// readSeen sets when groups were first and last seen in the clusters that the filter takes.
func (g *grouping[T]) readSeen(ctx context.Context, q querier, a *asked, rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	type seen struct {
		key         [3]string
		first, last int64
	}
	var s statement
	keys := make([][3]string, 0, len(rows))
	for _, row := range rows {
		keys = append(keys, g.key(row))
	}
	columns := strings.Join(g.columns[:], ", ")
	found, err := collect(ctx, q, `SELECT `+columns+`, MIN(s.first_seen), MAX(s.last_seen) FROM `+g.keyTables(&s, keys)+`
		CROSS JOIN inventory_seen s CROSS JOIN inventory_clusters c WHERE `+g.condition(a, &s)+` AND `+fmt.Sprintf("s.kind = %d", numbers[g.kind])+`
		AND s.subject = `+g.table[strings.LastIndex(g.table, " ")+1:]+`.id AND c.id = s.cluster AND s.first_seen <= c.as_of AND `+a.clusters(&s)+`
		AND `+g.ofKey()+` GROUP BY `+columns, s.args, func(rows *sql.Rows, to *seen) error {
		return rows.Scan(&to.key[0], &to.key[1], &to.key[2], &to.first, &to.last)
	})
	if err != nil {
		return err
	}
	byKey := make(map[[3]string]seen, len(found))
	for _, one := range found {
		byKey[one.key] = one
	}
	for n := range rows {
		one := byKey[g.key(rows[n])]
		g.seen(&rows[n], database.FromTime(one.first), seenTime(one.last))
	}
	return nil
}
