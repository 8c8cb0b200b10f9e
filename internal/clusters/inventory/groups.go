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
	// first is what is read of one of the subjects, and counted how many there are beside clusters.
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
	name: "images", kind: KindContainer, columns: [3]string{"i.repository", "i.tag", "i.digest"}, first: "i.reference", counted: "COUNT(*)",
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
		rows, err := g.read(ctx, tx, a, narrow, position, a.Limit+1)
		if err != nil {
			return err
		}
		if len(rows) > a.Limit {
			rows = rows[:a.Limit]
			last := g.key(rows[a.Limit-1])
			page.Next = encodeCursor(q, last[:])
		}
		if err := g.readSeen(ctx, tx, a, rows); err != nil {
			return err
		}
		page.Rows, page.AsOf = rows, a.asOf(clusters)
		return nil
	})
	if err != nil {
		return Page[T]{}, fmt.Errorf("find %s: %w", g.name, err)
	}
	return page, nil
}

// behind is the condition of the groups behind a position.
func (g *grouping[T]) behind(s *statement, position []string) string {
	if position == nil {
		return "1=1"
	}
	return "(" + strings.Join(g.columns[:], ", ") + ") > " + s.tuple(position[0], position[1], position[2])
}

// read reads groups behind a position, without when they were seen.
func (g *grouping[T]) read(ctx context.Context, q querier, a *asked, narrow bool, position []string, limit int) ([]T, error) {
	if !narrow {
		return g.count(ctx, q, a, narrow, position, nil, limit)
	}
	// From a few clusters on all that they have would be counted and sorted, for one page. What was seen says where the page ends at the
	// latest: beyond that there are as many groups as it has, but for those that were not there just then.
	var out []T
	for size := limit; len(out) < limit; size *= 4 {
		end, err := g.bound(ctx, q, a, position, size)
		if err != nil {
			return nil, err
		}
		rows, err := g.count(ctx, q, a, narrow, position, end, limit-len(out))
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
		if end == nil {
			break
		}
		position = end
	}
	return out, nil
}

// bound is the last of so many groups behind a position that were seen before then and after; nil where there are fewer.
func (g *grouping[T]) bound(ctx context.Context, q querier, a *asked, position []string, size int) ([]string, error) {
	var s statement
	from, conditions := a.subjects(&s, g.kind, true)
	conditions = append(conditions, g.behind(&s, position), a.clusters(&s), a.present(&s))
	columns := strings.Join(g.columns[:], ", ")
	keys, err := collect(ctx, q, `SELECT `+columns+` FROM `+strings.TrimSuffix(from, crossJoin)+` WHERE `+strings.Join(conditions, " AND ")+`
		GROUP BY `+columns+` ORDER BY `+columns+` LIMIT `+s.arg(size), s.args, func(rows *sql.Rows, to *[3]string) error {
		return rows.Scan(&to[0], &to[1], &to[2])
	})
	if err != nil || len(keys) < size {
		return nil, err
	}
	return keys[size-1][:], nil
}

// count counts the rows of groups behind a position, up to an end where there is one. SQLite joins in the order in which tables are named, so that
// it reads the groups in their order and ends when it has enough, unless it begins with clusters.
func (g *grouping[T]) count(ctx context.Context, q querier, a *asked, narrow bool, position, end []string, limit int) ([]T, error) {
	var s statement
	from, conditions := a.subjects(&s, g.kind, narrow)
	tables, valid := a.valid(&s)
	conditions = append(conditions, g.behind(&s, position), a.clusters(&s), a.present(&s), "r.subject = s.subject", "r.cluster = c.id",
		fmt.Sprintf("r.kind = %d", numbers[g.kind]), valid, in(&s, "r.namespace", a.Namespaces))
	columns := strings.Join(g.columns[:], ", ")
	if end != nil {
		conditions = append(conditions, "("+columns+") <= "+s.tuple(end[0], end[1], end[2]))
	}
	query := `SELECT ` + columns + `, MIN(` + g.first + `), COUNT(DISTINCT r.cluster), ` + g.counted + ` FROM ` + from + tables +
		`inventory_rows r WHERE ` + strings.Join(conditions, " AND ") + ` GROUP BY ` + columns + ` ORDER BY ` + columns + ` LIMIT ` + s.arg(limit)
	return collect(ctx, q, query, s.args, func(rows *sql.Rows, to *T) error {
		var key [3]string
		var first string
		var clusters, counted int
		err := rows.Scan(&key[0], &key[1], &key[2], &first, &clusters, &counted)
		*to = g.row(key, first, clusters, counted)
		return err
	})
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
	values := make([]string, 0, len(rows))
	for _, row := range rows {
		key := g.key(row)
		values = append(values, s.tuple(key[0], key[1], key[2]))
	}
	columns := strings.Join(g.columns[:], ", ")
	found, err := collect(ctx, q, `SELECT `+columns+`, MIN(s.first_seen), MAX(s.last_seen) FROM (VALUES `+strings.Join(values, ", ")+`) k CROSS JOIN `+g.table+`
		CROSS JOIN inventory_seen s CROSS JOIN inventory_clusters c WHERE `+g.condition(a, &s)+` AND `+fmt.Sprintf("s.kind = %d", numbers[g.kind])+`
		AND s.subject = `+g.table[strings.LastIndex(g.table, " ")+1:]+`.id AND c.id = s.cluster AND s.first_seen <= c.as_of AND `+a.clusters(&s)+`
		AND `+g.columns[0]+` = k.column1 AND `+g.columns[1]+` = k.column2 AND `+g.columns[2]+` = k.column3
		GROUP BY `+columns, s.args, func(rows *sql.Rows, to *seen) error {
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
