package objects

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"kqueen.io/kqueen/api/rest"
)

// invalid is a problem of input that is wrong, with the fields as files of objects have them.
type invalid struct{ *rest.Problem }

// Error has a line "field: problem" for each part that is wrong.
func (i *invalid) Error() string {
	lines := []string{}
	for _, e := range i.Errors {
		line := "  " + e.Detail
		if field := fieldOf(e.Pointer); field != "" {
			line = "  " + field + ": " + e.Detail
		}
		if line != "  " {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines) // the server gives them in any order
	first := "not valid"
	if i.Code == rest.CodeFieldConflict {
		first = i.Detail
	}
	return strings.Join(append([]string{first}, lines...), "\n")
}

// Unwrap returns the problem.
func (i *invalid) Unwrap() error { return i.Problem }

// explain says of input that is wrong what is wrong with it; other errors stay as they are.
func explain(err error) error {
	p, ok := errors.AsType[*rest.Problem](err)
	if !ok || changed(p) || !slices.ContainsFunc(p.Errors, func(e rest.FieldError) bool { return e != rest.FieldError{} }) {
		return err
	}
	return &invalid{p}
}

// changed says that a condition of the caller's does not hold any more.
func changed(p *rest.Problem) bool {
	return p.Code == rest.CodeChanged || p.Code == rest.CodeNeedsMatch
}

// IsNotFound says that there is no such object for the caller. That a proxy on the way, or a server that is not KQueen,
// finds nothing does not say so.
func IsNotFound(err error) bool {
	p, ok := errors.AsType[*rest.Problem](err)
	return ok && p.Code == rest.CodeNotFound
}

// IsForbidden says that the caller may not do it.
func IsForbidden(err error) bool {
	p, ok := errors.AsType[*rest.Problem](err)
	return ok && p.Status == http.StatusForbidden
}

// IsFieldConflict says that other field managers have set what is applied.
func IsFieldConflict(err error) bool {
	p, ok := errors.AsType[*rest.Problem](err)
	return ok && p.Code == rest.CodeFieldConflict
}

// Exists says that the name is taken.
func Exists(err error) bool {
	p, ok := errors.AsType[*rest.Problem](err)
	return ok && p.Code == rest.CodeExists
}

// IsConflict says that the object is another one by now, or has changed.
func IsConflict(err error) bool {
	p, ok := errors.AsType[*rest.Problem](err)
	return ok && (changed(p) || p.Status == http.StatusConflict && p.Code != rest.CodeExists)
}

// fieldOf makes "spec.taints[0].key" of the JSON pointer "/spec/taints/0/key", and "metadata.name" of "/name". Names of
// parameters and headers stay.
func fieldOf(pointer string) string {
	var b strings.Builder
	path, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return pointer
	}
	for part := range strings.SplitSeq(path, "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch {
		case b.Len() == 0 && (part == "name" || part == "labels" || part == "annotations"):
			part = "metadata." + part
		case part != "" && strings.Trim(part, "0123456789") == "":
			part = "[" + part + "]"
		case b.Len() > 0:
			part = "." + part
		}
		b.WriteString(part)
	}
	return b.String()
}
