package audit

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// Limits of a page, in records.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// Filter says which records. Organization or AllOrganizations has to be given, and not both: a caller does not see everything
// by leaving something out. Each other field that is not zero narrows it.
type Filter struct {
	Organization     string
	AllOrganizations bool // with the platform's records

	ActorKind  string
	Actor      string // its name
	Action     string
	ObjectKind string
	ObjectName string
	ObjectUID  string
	Outcome    Outcome
	Since      time.Time // and later
	Until      time.Time // before

	OldestFirst bool
	// Limit is how many records a page has at most; 0 means DefaultLimit.
	Limit int
	// Cursor is Next of the page before, which was read with the same filter; Limit may differ.
	Cursor string
}

// Page is a part of a list.
type Page struct {
	Records []Record
	// Problems name the records of this page that are not what was written. What is not on it is for [Log.Verify].
	Problems []Problem
	// Next is the cursor of the page that follows; empty behind the last one.
	Next string
}

// List returns the records that a filter names, newest first unless it says otherwise. Its error is an [*invalid.Error]
// where the filter is not one, as with a cursor that was made for another filter.
func (l *Log) List(ctx context.Context, f Filter) (Page, error) {
	limit, after, err := l.place(f)
	if err != nil {
		return Page{}, fmt.Errorf("list records: %w", err)
	}
	records, err := l.read(ctx, f, after, math.MaxInt64, limit+1)
	if err != nil {
		return Page{}, fmt.Errorf("list records: %w", err)
	}
	page := Page{Records: records[:min(limit, len(records))]}
	for _, r := range page.Records {
		if !same(r.Hash, l.keys.hash(r)) {
			page.Problems = append(page.Problems, Problem{First: r.Sequence, Last: r.Sequence, What: Changed})
		}
	}
	if len(records) > limit {
		page.Next = l.cursor(f, records[limit-1].Sequence)
	}
	return page, nil
}

// place checks a filter and returns its limit, and the sequence behind which its page begins.
func (l *Log) place(f Filter) (limit int, after int64, err error) {
	if err := f.checkScope(); err != nil {
		return 0, 0, err
	}
	limit = f.Limit
	switch {
	case limit == 0:
		limit = DefaultLimit
	case limit < 0 || limit > MaxLimit:
		return 0, 0, invalid.New("limit", "is %d; want 1 to %d", limit, MaxLimit)
	}
	after = math.MaxInt64
	if f.OldestFirst {
		after = 0
	}
	if f.Cursor == "" {
		return limit, after, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(f.Cursor)
	if err == nil && len(raw) > 8 {
		after = int64(binary.BigEndian.Uint64(raw))
		if same(l.cursor(f, after), f.Cursor) {
			return limit, after, nil
		}
	}
	return 0, 0, invalid.New("cursor", "was not made for this filter; want the one of the page before, or none")
}

func (f Filter) checkScope() error {
	switch {
	case f.Organization == "" && !f.AllOrganizations:
		return invalid.New("organization", "is empty; want the name of one, or all organizations by saying so")
	case f.Organization != "" && f.AllOrganizations:
		return invalid.New("organization", "is given together with all organizations; want one of the two")
	}
	return nil
}

// cursor is a sequence and its signature for all of the filter that says which records, and in which order.
func (l *Log) cursor(f Filter, sequence int64) string {
	signature := sign(l.keys.cursor, f.Organization, strconv.FormatBool(f.AllOrganizations), f.ActorKind, f.Actor, f.Action,
		f.ObjectKind, f.ObjectName, f.ObjectUID, string(f.Outcome), strconv.FormatInt(database.Time(f.Since), 10),
		strconv.FormatInt(database.Time(f.Until), 10), strconv.FormatBool(f.OldestFirst), strconv.FormatInt(sequence, 10))
	raw := binary.BigEndian.AppendUint64(nil, uint64(sequence))
	return base64.RawURLEncoding.EncodeToString(append(raw, signature[:32]...))
}

// read returns up to limit records that the filter names, behind one sequence in its order, and up to another.
func (l *Log) read(ctx context.Context, f Filter, after, until int64, limit int) (_ []Record, err error) {
	where, args := f.conditions()
	order := "DESC"
	comparison := "<"
	if f.OldestFirst {
		order, comparison = "ASC", ">"
	}
	args = append(args, after, until, limit)
	query := fmt.Sprintf(`SELECT %s FROM audit_records WHERE %ssequence %s $%d AND sequence <= $%d ORDER BY sequence %s LIMIT $%d`,
		columns, where, comparison, len(args)-2, len(args)-1, order, len(args))
	rows, err := l.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var records []Record
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, rows.Err()
}

// conditions returns the part of the query between WHERE and "sequence".
func (f Filter) conditions() (string, []any) {
	var where strings.Builder
	var args []any
	add := func(given bool, condition string, value any) {
		if given {
			args = append(args, value)
			fmt.Fprintf(&where, condition+" $%d AND ", len(args))
		}
	}
	for _, c := range []struct{ column, value string }{
		{"organization", f.Organization}, {"actor_kind", f.ActorKind}, {"actor_name", f.Actor}, {"action", f.Action},
		{"object_kind", f.ObjectKind}, {"object_name", f.ObjectName}, {"object_uid", f.ObjectUID}, {"outcome", string(f.Outcome)},
	} {
		add(c.value != "", c.column+" =", c.value)
	}
	add(!f.Since.IsZero(), "time >=", database.Time(f.Since))
	add(!f.Until.IsZero(), "time <", database.Time(f.Until))
	return where.String(), args
}
