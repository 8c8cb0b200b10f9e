package inventory

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// chunk is how many rows one statement reads or writes.
const chunk = 200

const currentColumns = `SELECT r.id, r.kind, r.namespace, r.name, r.part, r.uid, ct.hash, COALESCE(i.hash, b.hash), r.subject,
	COALESCE(t.text, ''), r.valid_from FROM `

const currentJoins = ` JOIN inventory_contents ct ON ct.id = r.content
	LEFT JOIN inventory_images i ON r.kind = 1 AND i.id = r.subject LEFT JOIN inventory_binaries b ON r.kind = 3 AND b.id = r.subject
	LEFT JOIN inventory_texts t ON t.id = r.node WHERE r.cluster = `

// readCurrent reads the rows that are valid of the kinds that are wanted as a whole, and of the other keys that are named.
func readCurrent(ctx context.Context, q querier, cluster int64, want wanted) ([]current, error) {
	var out []current
	for _, kind := range want.whole {
		rows, err := collect(ctx, q, currentColumns+`inventory_rows r`+currentJoins+`$1 AND r.kind = $2 AND r.valid_to = `+openSQL,
			[]any{cluster, numbers[kind]}, scanCurrent)
		if err != nil {
			return nil, fmt.Errorf("read rows: %w", err)
		}
		out = append(out, rows...)
	}
	var keys []Key
	for _, all := range []func(func(Key) bool){maps.Keys(want.set), maps.Keys(want.gone)} {
		for key := range all {
			if !slices.Contains(want.whole, key.Kind) {
				keys = append(keys, key)
			}
		}
	}
	for part := range slices.Chunk(keys, chunk) {
		var s statement
		var k strings.Builder
		for n, key := range part {
			k.WriteString([]string{"", " UNION ALL "}[min(n, 1)])
			fmt.Fprintf(&k, "SELECT %d AS kind, %s AS namespace, %s AS name, %s AS part, %s AS uid",
				numbers[key.Kind], textArg(&s, key.Namespace), textArg(&s, key.Name), textArg(&s, key.Part), textArg(&s, key.UID))
		}
		rows, err := collect(ctx, q, currentColumns+`(`+k.String()+`) k JOIN inventory_rows r ON r.kind = k.kind AND r.namespace = k.namespace
			AND r.name = k.name AND r.part = k.part AND r.uid = k.uid AND r.valid_to = `+openSQL+currentJoins+s.arg(cluster), s.args, scanCurrent)
		if err != nil {
			return nil, fmt.Errorf("read rows: %w", err)
		}
		out = append(out, rows...)
	}
	return out, nil
}

// textArg is a placeholder whose type PostgreSQL cannot take from where it stands.
func textArg(s *statement, value string) string { return "CAST(" + s.arg(value) + " AS TEXT)" }

func scanCurrent(rows *sql.Rows, to *current) error {
	var kind int
	var content, subject []byte
	err := rows.Scan(&to.id, &kind, &to.key.Namespace, &to.key.Name, &to.key.Part, &to.key.UID, &content, &subject, &to.subjectID, &to.node, &to.from)
	to.key.Kind = kindOf(kind)
	copy(to.content[:], content)
	copy(to.subject[:], subject)
	return err
}

// kindOf is the inverse of numbers.
func kindOf(number int) Kind {
	for kind, n := range numbers {
		if n == number {
			return kind
		}
	}
	return ""
}

// readCounts returns how many items of each kind a cluster has.
func readCounts(ctx context.Context, q querier, cluster int64) (map[Kind]int, error) {
	type count struct{ kind, items int }
	rows, err := collect(ctx, q, `SELECT kind, items FROM inventory_kinds WHERE cluster = $1`, []any{cluster},
		func(rows *sql.Rows, to *count) error { return rows.Scan(&to.kind, &to.items) })
	out := make(map[Kind]int, len(rows))
	for _, one := range rows {
		out[kindOf(one.kind)] = one.items
	}
	return out, err
}

// closeRows ends rows. One that would have been valid for no time at all is removed.
func closeRows(ctx context.Context, tx *sql.Tx, cluster int64, rows []current, at int64, touched map[subjectKey]bool) error {
	byClass := map[int][]int64{}
	var empty []int64
	for _, row := range rows {
		if row.subjectID != 0 {
			touched[subjectKey{row.key.Kind, row.subjectID}] = true
		}
		if row.from >= at {
			empty = append(empty, row.id)
		} else {
			class := span(row.from, at)
			byClass[class] = append(byClass[class], row.id)
		}
	}
	for class, ids := range byClass {
		_, err := tx.ExecContext(ctx, `UPDATE inventory_rows SET valid_to = $1, span = $2 WHERE `+numbersIn("id", ids), at, class)
		if err != nil {
			return err
		}
	}
	return removeRows(ctx, tx, cluster, empty)
}

// openRows begins rows.
func openRows(ctx context.Context, tx *sql.Tx, cluster int64, entries []entry, at int64, touched map[subjectKey]bool) error {
	ids, err := internAll(ctx, tx, entries)
	if err != nil {
		return err
	}
	var charged int64
	for part := range slices.Chunk(entries, chunk) {
		var s statement
		values := make([]string, 0, len(part))
		for _, one := range part {
			subject := ids.subjects[one.subject]
			if subject != 0 {
				touched[subjectKey{one.key.Kind, subject}] = true
			}
			size := one.size()
			charged += int64(size)
			values = append(values, s.tuple(cluster, numbers[one.key.Kind], one.key.Namespace, one.key.Name, one.key.Part, one.key.UID,
				ids.contents[one.content], subject, ids.texts[hashOf(one.node)], openSpan, at, int64(open), size))
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO inventory_rows (cluster, kind, namespace, name, part, uid, content, subject, node, span,
			valid_from, valid_to, size) VALUES `+strings.Join(values, ", "), s.args...)
		if err != nil {
			return err
		}
	}
	return charge(ctx, tx, cluster, charged)
}

// interned are the ids of content by its hash. The zero hash, and the empty text, have none.
type interned struct{ contents, subjects, texts map[hash]int64 }

// internAll keeps the content of entries, once.
func internAll(ctx context.Context, tx *sql.Tx, entries []entry) (out interned, err error) {
	contents, images, binaries, texts := map[hash][]any{}, map[hash][]any{}, map[hash][]any{}, map[hash][]any{}
	for _, one := range entries {
		contents[one.content] = []any{one.body}
		switch one.key.Kind {
		case KindContainer:
			images[one.subject] = []any{one.image.Reference, one.image.Repository, one.image.Tag, one.image.Digest}
		case KindComponent:
			binaries[one.subject] = []any{one.binary.component, one.binary.version, one.binary.managed}
		default:
		}
		if one.node != "" {
			texts[hashOf(one.node)] = []any{one.node}
		}
	}
	if out.contents, err = intern(ctx, tx, "inventory_contents", "body", contents); err != nil {
		return out, err
	}
	if out.texts, err = intern(ctx, tx, "inventory_texts", "text", texts); err != nil {
		return out, err
	}
	if out.subjects, err = intern(ctx, tx, "inventory_images", "reference, repository, tag, digest", images); err != nil {
		return out, err
	}
	others, err := intern(ctx, tx, "inventory_binaries", "component, version, managed", binaries)
	maps.Copy(out.subjects, others)
	return out, err
}

// intern returns the ids of content in a table of it, in which it writes what is not there.
func intern(ctx context.Context, tx *sql.Tx, table, columns string, wanted map[hash][]any) (map[hash]int64, error) {
	out := make(map[hash]int64, len(wanted))
	read := func(query string, args []any) error {
		type found struct {
			id   int64
			hash []byte
		}
		rows, err := collect(ctx, tx, query, args, func(rows *sql.Rows, to *found) error { return rows.Scan(&to.id, &to.hash) })
		for _, row := range rows {
			out[hash(row.hash)] = row.id
		}
		return err
	}
	hashes := slices.Collect(maps.Keys(wanted))
	slices.SortFunc(hashes, func(a, b hash) int { return cmp.Compare(string(a[:]), string(b[:])) })
	for part := range slices.Chunk(hashes, chunk) {
		var s statement
		marks := make([]string, 0, len(part))
		for _, one := range part {
			marks = append(marks, s.arg(one[:]))
		}
		if err := read(`SELECT id, hash FROM `+table+` WHERE hash IN (`+strings.Join(marks, ", ")+`)`, s.args); err != nil {
			return nil, fmt.Errorf("read what is kept: %w", err)
		}
		var missing statement
		var values []string
		for _, one := range part {
			if _, there := out[one]; !there {
				values = append(values, missing.tuple(append([]any{one[:]}, wanted[one]...)...))
			}
		}
		if len(values) == 0 {
			continue
		}
		err := read(`INSERT INTO `+table+` (hash, `+columns+`) VALUES `+strings.Join(values, ", ")+` RETURNING id, hash`, missing.args)
		if err != nil {
			return nil, fmt.Errorf("keep content: %w", err)
		}
	}
	return out, nil
}
