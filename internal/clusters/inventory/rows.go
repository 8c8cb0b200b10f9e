package inventory

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// Containers returns the containers that the filter takes, by organization, cluster, namespace and name.
func (s *Store) Containers(ctx context.Context, f Filter) (Page[ContainerRow], error) {
	page, err := s.items(ctx, "containers", KindContainer, f)
	out := Page[ContainerRow]{Next: page.Next, AsOf: page.AsOf}
	for _, row := range page.Rows {
		out.Rows = append(out.Rows, ContainerRow{Place: row.Place, Key: row.Item.Key, Container: *row.Item.Container})
	}
	return out, err
}

// BinaryPlaces returns on which nodes and in which clusters the components run that the filter takes.
func (s *Store) BinaryPlaces(ctx context.Context, f Filter) (Page[ItemRow], error) {
	return s.items(ctx, "binary places", KindComponent, f)
}

// Items returns the items of a kind that the filter takes.
func (s *Store) Items(ctx context.Context, kind Kind, f Filter) (Page[ItemRow], error) {
	if numbers[kind] == 0 {
		return Page[ItemRow]{}, invalid.New("kind", "%q is not known; want one such as Node, Workload or Certificate", fit(string(kind), maxWord))
	}
	return s.items(ctx, "items", kind, f)
}

// positionParts is how many texts the position of an item has: those of its cluster and its key.
const positionParts = 7

func (s *Store) items(ctx context.Context, name string, kind Kind, f Filter) (page Page[ItemRow], err error) {
	err = s.ask(ctx, f, func(a *asked, tx *sql.Tx, clusters []ClusterState) error {
		q, err := question(name, f, kind)
		if err != nil {
			return err
		}
		position, err := decodeCursor(q, f.Cursor, positionParts)
		if err != nil {
			return err
		}
		if err := a.choose(ctx, tx, kind, len(clusters) > s.limits.narrow); err != nil {
			return err
		}
		found, err := a.find(ctx, tx, kind, clusters, position)
		if err != nil {
			return err
		}
		if len(found) > a.Limit {
			found = found[:a.Limit]
			page.Next = encodeCursor(q, found[a.Limit-1].position())
		}
		page.Rows = make([]ItemRow, 0, len(found))
		for _, row := range found {
			page.Rows = append(page.Rows, row.ItemRow)
		}
		page.AsOf = a.asOf(clusters)
		return nil
	})
	if err != nil {
		return Page[ItemRow]{}, fmt.Errorf("find %s: %w", strings.ToLower(string(kind))+"s", err)
	}
	return page, nil
}

// foundRow is a row as it was read.
type foundRow struct{ ItemRow }

func (r *foundRow) position() []string {
	k := r.Item.Key
	return []string{r.Organization, r.Cluster, r.ClusterUID, k.Namespace, k.Name, k.Part, k.UID}
}

// find returns one row more than a page has, where there are more. What images or binaries are asked for leads to the rows; else it is
// asked of a few clusters at a time, in their order, until the page is full, so that a page of a large fleet sorts few rows.
func (a *asked) find(ctx context.Context, q querier, kind Kind, clusters []ClusterState, position []string) ([]foundRow, error) {
	var out []foundRow
	bySubject := kind == KindContainer && a.asksImages() || kind == KindComponent && a.asksBinaries()
	for from, size := 0, 4; from < len(clusters) && len(out) <= a.Limit; size *= 4 {
		if position != nil && compareClusters(clusters[from], position) < 0 {
			from++
			size = 1
			continue
		}
		if bySubject {
			size = len(clusters)
		}
		part := clusters[from:min(from+size, len(clusters))]
		rows, err := a.findIn(ctx, q, kind, part, position, a.Limit+1-len(out), bySubject)
		if err != nil {
			return nil, err
		}
		out, from = append(out, rows...), from+len(part)
	}
	return out, nil
}

// findIn reads from clusters that follow each other.
func (a *asked) findIn(ctx context.Context, q querier, kind Kind, part []ClusterState, position []string, limit int, bySubject bool) ([]foundRow, error) {
	var s statement
	first, last := part[0], part[len(part)-1]
	from := "inventory_clusters c CROSS JOIN "
	var conditions []string
	if bySubject {
		from, conditions = a.subjects(&s, kind, false)
		conditions = append(conditions, "r.subject = s.subject")
	}
	notable := ""
	if a.notable && kind == KindContainer {
		notable = " CROSS JOIN inventory_images n CROSS JOIN inventory_contents m"
		conditions = append(conditions, notableSQL)
	}
	tables, valid := a.valid(&s)
	conditions = append(conditions, a.clusters(&s), a.present(&s),
		"(c.organization, c.name, c.uid) >= "+s.tuple(first.Organization, first.Name, first.UID),
		"(c.organization, c.name, c.uid) <= "+s.tuple(last.Organization, last.Name, last.UID),
		"r.cluster = c.id", fmt.Sprintf("r.kind = %d", numbers[kind]), valid, in(&s, "r.namespace", a.Namespaces))
	if position != nil {
		values := make([]any, 0, len(position))
		for _, one := range position {
			values = append(values, one)
		}
		conditions = append(conditions, "(c.organization, c.name, c.uid, r.namespace, r.name, r.part, r.uid) > "+s.tuple(values...))
	}
	const order = ` ORDER BY organization, cluster, cluster_uid, namespace, name, part, uid`
	query := `SELECT t.organization, t.cluster, t.cluster_uid, t.as_of, t.ended, t.namespace, t.name, t.part, t.uid, t.valid_from, t.valid_to, ct.body,
		COALESCE(i.reference, ''), COALESCE(i.repository, ''), COALESCE(i.tag, ''), COALESCE(i.digest, ''), COALESCE(x.text, '')
		FROM (SELECT c.organization AS organization, c.name AS cluster, c.uid AS cluster_uid, c.as_of AS as_of, c.ended AS ended, r.namespace AS namespace,
		r.name AS name, r.part AS part, r.uid AS uid, r.valid_from AS valid_from, r.valid_to AS valid_to, r.content AS content, r.subject AS subject,
		r.node AS node FROM ` + from + tables + `inventory_rows r` + notable + ` WHERE ` + strings.Join(conditions, " AND ") + order + ` LIMIT ` + s.arg(limit) + `) t
		JOIN inventory_contents ct ON ct.id = t.content LEFT JOIN inventory_images i ON i.id = t.subject AND ` + fmt.Sprint(numbers[kind]) + ` = 1
		LEFT JOIN inventory_texts x ON x.id = t.node` + order
	return collect(ctx, q, query, s.args, func(rows *sql.Rows, to *foundRow) error { return to.scan(rows, kind) })
}

func (r *foundRow) scan(rows *sql.Rows, kind Kind) error {
	key := Key{Kind: kind}
	var image Image
	var node, body string
	var asOf, ended, from, to int64
	err := rows.Scan(&r.Organization, &r.Cluster, &r.ClusterUID, &asOf, &ended, &key.Namespace, &key.Name, &key.Part, &key.UID, &from, &to, &body,
		&image.Reference, &image.Repository, &image.Tag, &image.Digest, &node)
	if err != nil {
		return err
	}
	r.Since, r.Until = database.FromTime(from), until(to, asOf, ended)
	r.Item, err = itemOf(key, body, image, node)
	return err
}

// until is when a row ended; zero where it has not, or that is not known yet.
func until(to, asOf, ended int64) time.Time {
	if ended != 0 {
		to = min(to, ended)
	}
	if to > asOf {
		return time.Time{}
	}
	return database.FromTime(to)
}

// crossJoin joins in the order of tables in SQLite, and in that of costs in PostgreSQL.
const crossJoin = " CROSS JOIN "

// subjects is the tables that lead from images or binaries to the clusters in which they were then, and their conditions. narrow
// begins with the clusters, which is less work where these are few.
func (a *asked) subjects(s *statement, kind Kind, narrow bool) (tables string, conditions []string) {
	table := "inventory_images i"
	if kind == KindComponent {
		table = "inventory_binaries b"
	}
	tables = table + " CROSS JOIN inventory_seen s CROSS JOIN inventory_clusters c" + crossJoin
	if narrow {
		tables = "inventory_clusters c CROSS JOIN inventory_seen s CROSS JOIN " + table + crossJoin
	}
	return tables, append(a.seenIn(s, kind), a.subjectCondition(s, kind))
}

// seenIn is the conditions that image i or binary b was in cluster c then, as s notes.
func (a *asked) seenIn(s *statement, kind Kind) []string {
	id := "i.id"
	if kind == KindComponent {
		id = "b.id"
	}
	return []string{fmt.Sprintf("s.kind = %d", numbers[kind]), "s.subject = " + id, "c.id = s.cluster", a.seen(s)}
}

// seen is the condition that a subject was in a cluster then. What is noted is known: nothing is noted for later than until when its cluster is
// known, but that it has no end.
func (a *asked) seen(s *statement) string {
	if a.at == open {
		return "s.last_seen = " + openSQL
	}
	at := s.arg(a.at)
	return "s.first_seen <= " + at + " AND s.last_seen > " + at
}
