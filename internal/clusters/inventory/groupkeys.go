package inventory

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// keys reads which groups there are behind a position, in their order. It looks for one row of each, so that only those of an answer are counted.
func (g *grouping[T]) keys(ctx context.Context, q querier, a *asked, narrow bool, position []string, limit int) ([][3]string, error) {
	if !narrow { // SQLite reads the groups in their order, and ends when it has enough
		return g.keysUntil(ctx, q, a, narrow, position, nil, limit)
	}
	// From a few clusters on all that they have would be looked for, for one page. What was seen says where the page ends at the latest: up to
	// there are as many groups as it has, but for those that were not there just then.
	var out [][3]string
	for size := limit; len(out) < limit; size *= 4 {
		end, err := g.bound(ctx, q, a, position, size)
		if err != nil {
			return nil, err
		}
		keys, err := g.keysUntil(ctx, q, a, narrow, position, end, limit-len(out))
		if err != nil {
			return nil, err
		}
		out = append(out, keys...)
		if end == nil {
			break
		}
		position = end
	}
	return out, nil
}

// keysUntil reads which groups there are behind a position up to an end, where there is one.
func (g *grouping[T]) keysUntil(ctx context.Context, q querier, a *asked, narrow bool, position, end []string, limit int) ([][3]string, error) {
	var s statement
	conditions := append(g.within(&s, position, end), a.subjectCondition(&s, g.kind))
	seen := append(a.seenIn(&s, g.kind), a.clusters(&s), a.present(&s))
	spans, valid := a.valid(&s)
	rows := append(a.rowsOf(&s, g.kind), valid)
	from, of := g.table, "inventory_seen s CROSS JOIN inventory_clusters c"+crossJoin
	if narrow {
		from, of = "inventory_clusters c CROSS JOIN inventory_seen s CROSS JOIN "+g.table, ""
		conditions = append(conditions, seen...)
	} else {
		rows = append(rows, seen...)
	}
	columns := strings.Join(g.columns[:], ", ")
	// OFFSET has PostgreSQL look for a row of each, too: else it joins the rows of all.
	return collect(ctx, q, `SELECT `+columns+` FROM `+from+` WHERE `+strings.Join(conditions, " AND ")+` AND EXISTS (SELECT 1 FROM `+of+spans+`inventory_rows r
		WHERE `+strings.Join(rows, " AND ")+` LIMIT 1 OFFSET 0) GROUP BY `+columns+` ORDER BY `+columns+` LIMIT `+s.arg(limit), s.args, scanKey)
}

// bound is the last of so many groups behind a position that were seen before then and after; nil where there are fewer.
func (g *grouping[T]) bound(ctx context.Context, q querier, a *asked, position []string, size int) ([]string, error) {
	var s statement
	from, conditions := a.subjects(&s, g.kind, true)
	conditions = append(append(conditions, a.clusters(&s), a.present(&s)), g.within(&s, position, nil)...)
	columns := strings.Join(g.columns[:], ", ")
	keys, err := collect(ctx, q, `SELECT `+columns+` FROM `+strings.TrimSuffix(from, crossJoin)+` WHERE `+strings.Join(conditions, " AND ")+`
		GROUP BY `+columns+` ORDER BY `+columns+` LIMIT `+s.arg(size), s.args, scanKey)
	if err != nil || len(keys) < size {
		return nil, err
	}
	return keys[size-1][:], nil
}

// within is the conditions of the groups behind a position up to an end; nil is none.
func (g *grouping[T]) within(s *statement, position, end []string) (conditions []string) {
	columns := "(" + strings.Join(g.columns[:], ", ") + ")"
	if position != nil {
		conditions = append(conditions, columns+" > "+s.tuple(position[0], position[1], position[2]))
	}
	if end != nil {
		conditions = append(conditions, columns+" <= "+s.tuple(end[0], end[1], end[2]))
	}
	return conditions
}

func scanKey(rows *sql.Rows, to *[3]string) error { return rows.Scan(&to[0], &to[1], &to[2]) }

// count counts the rows of groups, without when they were seen.
func (g *grouping[T]) count(ctx context.Context, q querier, a *asked, narrow bool, keys [][3]string) (map[[3]string]T, error) {
	out := make(map[[3]string]T, len(keys))
	if len(keys) == 0 {
		return out, nil
	}
	var s statement
	from := g.keyTables(&s, keys) + " CROSS JOIN inventory_seen s CROSS JOIN inventory_clusters c"
	if narrow { // by both it is found in what was seen
		from = strings.Replace(from, "inventory_seen s CROSS JOIN inventory_clusters c", "inventory_clusters c CROSS JOIN inventory_seen s", 1)
	}
	conditions := append(a.seenIn(&s, g.kind), g.condition(a, &s), g.ofKey(), a.clusters(&s), a.present(&s))
	columns := "k.column1, k.column2, k.column3"
	var query string
	if g.counted == "" {
		// Counted for each cluster, which is less work than to group the rows.
		query = `WITH t AS MATERIALIZED (SELECT ` + columns + `, ` + g.first + ` AS first, c.id AS cluster, ` + a.countRows(&s, g.kind) + ` AS n FROM ` + from + `
			WHERE ` + strings.Join(conditions, " AND ") + `) SELECT column1, column2, column3, MIN(first), COUNT(DISTINCT cluster), CAST(SUM(n) AS BIGINT)
			FROM t WHERE n > 0 GROUP BY column1, column2, column3`
	} else {
		spans, valid := a.valid(&s)
		conditions = append(append(conditions, a.rowsOf(&s, g.kind)...), valid)
		query = `SELECT ` + columns + `, MIN(` + g.first + `), COUNT(DISTINCT c.id), ` + g.counted + ` FROM ` + from + crossJoin + spans + `inventory_rows r
			WHERE ` + strings.Join(conditions, " AND ") + ` GROUP BY ` + columns
	}
	rows, err := collect(ctx, q, query, s.args, func(rows *sql.Rows, to *T) error {
		var key [3]string
		var first string
		var clusters, counted int
		err := rows.Scan(&key[0], &key[1], &key[2], &first, &clusters, &counted)
		*to = g.row(key, first, clusters, counted)
		return err
	})
	for _, row := range rows {
		out[g.key(row)] = row
	}
	return out, err
}

// keyTables is a table k of keys, joined with that of subjects on the condition ofKey.
func (g *grouping[T]) keyTables(s *statement, keys [][3]string) string {
	values := make([]string, 0, len(keys))
	for _, key := range keys {
		values = append(values, s.tuple(key[0], key[1], key[2]))
	}
	return "(VALUES " + strings.Join(values, ", ") + ") k CROSS JOIN " + g.table
}

func (g *grouping[T]) ofKey() string {
	return g.columns[0] + " = k.column1 AND " + g.columns[1] + " = k.column2 AND " + g.columns[2] + " = k.column3"
}

// rowsOf is the conditions of the rows r of the subject that s has seen in cluster c, whenever they were so.
func (a *asked) rowsOf(s *statement, kind Kind) []string {
	return []string{"r.subject = s.subject", fmt.Sprintf("r.kind = %d", numbers[kind]), "r.cluster = c.id", in(s, "r.namespace", a.Namespaces)}
}

// countRows is how many rows there were then of the subject that s has seen in cluster c.
func (a *asked) countRows(s *statement, kind Kind) string {
	if !a.everySpan && len(a.Namespaces) == 0 { // now, in all namespaces
		return "s.items"
	}
	of := strings.Join(a.rowsOf(s, kind), " AND ")
	spans, valid := a.valid(s)
	counted := `(SELECT COUNT(*) FROM ` + spans + `inventory_rows r WHERE ` + of + ` AND ` + valid + `)`
	if !a.everySpan {
		return counted
	}
	moment := "(" + a.moment(s) + ")"
	return fmt.Sprintf(`CASE WHEN (SELECT 1 FROM inventory_rows r WHERE r.subject = s.subject AND r.kind = %d AND r.cluster = c.id LIMIT 1 OFFSET %d) IS NULL
		THEN (SELECT COUNT(*) FROM inventory_rows r WHERE %s AND r.valid_from <= %s AND r.valid_to > %s) ELSE %s END`, numbers[kind], a.limits.few, of, moment, moment, counted)
}
