package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// Limits of questions.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
	// MaxValues is how many values of one field a filter has.
	MaxValues = 1000
)

// asked is a filter that was checked.
type asked struct {
	Filter
	// at is the time as of which it is asked: the greatest number for now.
	at int64
	// binaries are those that the filter takes; nil where it takes all.
	binaries []int64
	// chosen are the images that the filter takes and that were there then; nil where they are not known.
	chosen []int64
	// everySpan says that rows which are closed already are looked at, too.
	everySpan bool
	limits    limits
	// notable leaves out containers of which no rule says anything.
	notable bool
}

func (f Filter) check() (asked, error) {
	a := asked{Filter: f, at: open}
	switch {
	case f.Limit == 0:
		a.Limit = DefaultLimit
	case f.Limit < 0 || f.Limit > MaxLimit:
		return a, invalid.New("limit", "is %d; want 1 to %d", f.Limit, MaxLimit)
	}
	if !f.At.IsZero() {
		if err := checkTime("at", f.At); err != nil {
			return a, err
		}
		a.at, a.everySpan = database.Time(f.At), true
	}
	for _, one := range []struct {
		field  string
		values []string
	}{
		{"organizations", f.Organizations}, {"clusters", f.Clusters}, {"namespaces", f.Namespaces}, {"digests", f.Digests},
		{"components", f.Components}, {"repository", single(f.Repository)}, {"tag", single(f.Tag)}, {"text", single(f.Text)}, {"version", single(f.Version)},
		{"clusterLabels", slices.Sorted(maps.Keys(f.ClusterLabels))}, {"clusterLabels", slices.Sorted(maps.Values(f.ClusterLabels))},
	} {
		if len(one.values) > MaxValues {
			return a, invalid.New(one.field, "has %d values; want at most %d", len(one.values), MaxValues)
		}
		for _, value := range one.values {
			if len(value) > maxReference || !utf8.ValidString(value) || strings.Contains(value, "\x00") {
				return a, invalid.New(one.field, "has a value that is too long or not text; want at most %d bytes of UTF-8", maxReference)
			}
		}
	}
	if len(f.ClusterLabels) > maxEntries {
		return a, invalid.New("clusterLabels", "has %d values; want at most %d", len(f.ClusterLabels), maxEntries)
	}
	return a, nil
}

func single(value string) []string { return []string{value} }

func checkTime(field string, t time.Time) error {
	if t.Year() < 1970 || t.Year() > 9999 {
		return invalid.New(field, "is not a time that can be known; want one of the years 1970 to 9999")
	}
	return nil
}

// clusters is the condition of the clusters c that the filter takes. The scope is in it: no query is without.
func (a *asked) clusters(s *statement) string {
	conditions := []string{a.Scope.condition(s), in(s, "c.organization", a.Organizations), in(s, "c.name", a.Clusters)}
	for _, key := range slices.Sorted(maps.Keys(a.ClusterLabels)) {
		conditions = append(conditions, fmt.Sprintf("EXISTS (SELECT 1 FROM inventory_labels l WHERE l.cluster = c.id AND l.name = %s AND l.value = %s)",
			s.arg(key), s.arg(a.ClusterLabels[key])))
	}
	return strings.Join(conditions, " AND ")
}

// condition is that of the clusters c that may be seen.
func (s Scope) condition(st *statement) string {
	switch {
	case s.All:
		return "1=1"
	case len(s.Organizations) == 0:
		return "1=0"
	default:
		return in(st, "c.organization", s.Organizations)
	}
}

// present is the condition that cluster c had not left then.
func (a *asked) present(s *statement) string {
	if a.at == open {
		return "c.ended = 0"
	}
	return "(c.ended = 0 OR c.ended > " + s.arg(a.at) + ")"
}

// moment is the time of which cluster c is answered: none after that until which it is known, so that changes that are written in
// parts are seen when the last is.
func (a *asked) moment(s *statement) string {
	if a.at == open {
		return "c.as_of"
	}
	at := s.arg(a.at)
	return "CASE WHEN c.as_of < " + at + " THEN c.as_of ELSE " + at + " END"
}

// valid is the tables beside inventory_rows r and the condition that r is valid then.
func (a *asked) valid(s *statement) (tables, condition string) {
	if !a.everySpan {
		moment := a.moment(s)
		return "", fmt.Sprintf("r.span = %d AND r.valid_from <= %s AND r.valid_to > %s", openSpan, moment, moment)
	}
	moment := "(" + a.moment(s) + ")"
	return spanTable() + " CROSS JOIN ", fmt.Sprintf("r.span = p.span AND r.valid_from > %s - p.width AND r.valid_from <= %s AND r.valid_to > %s", moment, moment, moment)
}

// images is the condition of the images i that the filter takes.
func (a *asked) images(s *statement) string {
	conditions := []string{in(s, "i.digest", a.Digests)}
	switch {
	case strings.Contains(a.Repository, "*"):
		conditions = append(conditions, "LOWER(i.repository) LIKE "+s.arg(pattern(a.Repository))+` ESCAPE '\'`)
	case a.Repository != "":
		conditions = append(conditions, "i.repository = "+s.arg(a.Repository))
	}
	if a.Tag != "" {
		conditions = append(conditions, "i.tag = "+s.arg(a.Tag))
	}
	if a.Text != "" {
		conditions = append(conditions, "LOWER(i.reference) LIKE "+s.arg("%"+escape(a.Text)+"%")+` ESCAPE '\'`)
	}
	return strings.Join(conditions, " AND ")
}

func (a *asked) asksImages() bool {
	return a.Repository != "" || a.Tag != "" || a.Text != "" || len(a.Digests) > 0
}

func (a *asked) asksBinaries() bool { return len(a.Components) > 0 || a.Version != "" }

// escape makes a text one that LIKE finds as it is, in small letters: SQLite compares letters of both sizes as equal, and
// PostgreSQL does not.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(lower(s))
}

// pattern is a text of which "*" is any text.
func pattern(s string) string { return strings.ReplaceAll(escape(s), "*", "%") }

// lower makes letters of ASCII small, as both databases do.
func lower(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

// binaryCondition is that of the binaries b that the filter takes.
func (a *asked) binaryCondition(s *statement) string {
	if a.binaries != nil {
		return numbersIn("b.id", a.binaries)
	}
	return in(s, "b.component", a.Components)
}
