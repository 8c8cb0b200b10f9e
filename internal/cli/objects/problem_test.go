package objects

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
)

func TestProblems(t *testing.T) {
	tests := map[string]struct {
		reason  string
		problem rest.Problem
		is      func(error) bool
	}{
		"NotFound":   {"", rest.Problem{Status: 404, Code: rest.CodeNotFound}, IsNotFound},
		"Exists":     {"", rest.Problem{Status: 409, Code: rest.CodeExists}, Exists},
		"Conflict":   {"", rest.Problem{Status: 409, Code: rest.CodeConflict}, IsConflict},
		"Changed":    {"What If-Match did not meet is a conflict.", rest.Problem{Status: 412, Code: rest.CodeChanged}, IsConflict},
		"NeedsMatch": {"", rest.Problem{Status: 428, Code: rest.CodeNeedsMatch, Errors: []rest.FieldError{{Pointer: ":If-Match"}}}, IsConflict},
		"Forbidden":  {"", rest.Problem{Status: 403, Code: rest.CodeForbidden}, IsForbidden},
		"Quota":      {"", rest.Problem{Status: 403, Code: rest.CodeQuotaExceeded}, IsForbidden},
		"Invalid":    {"", rest.Problem{Status: 422, Code: rest.CodeInvalid, Errors: []rest.FieldError{{Detail: "is wrong"}}}, isInvalid},
		"Proxy":      {"Others on the way say no without a code.", rest.Problem{Status: 502}, func(err error) bool { return !isInvalid(err) }},
		"OtherPage":  {"A server that is not KQueen has no such page.", rest.Problem{Status: 404}, func(err error) bool { return !IsNotFound(err) }},
	}
	all := []func(error) bool{IsNotFound, Exists, IsConflict, IsForbidden, isInvalid}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := fmt.Errorf("get cluster demo: %w", explain(&tc.problem))
			count := 0
			for _, is := range all {
				if is(err) {
					count++
				}
			}
			if !tc.is(err) || count > 1 {
				t.Errorf("%s %v is %d of them", tc.reason, err, count)
			}
			if p, ok := errors.AsType[*rest.Problem](err); !ok || p != &tc.problem {
				t.Error("the problem itself is lost")
			}
		})
	}
	if err := explain(io.EOF); !errors.Is(err, io.EOF) {
		t.Errorf("what is no problem is %v", err)
	}
	if err := explain(nil); err != nil {
		t.Errorf("nothing is %v", err)
	}
}

func isInvalid(err error) bool {
	_, ok := errors.AsType[*invalid](err)
	return ok
}

func TestInvalid(t *testing.T) {
	err := explain(&rest.Problem{Status: 422, Code: rest.CodeInvalid, Detail: "the request is not valid", Errors: []rest.FieldError{
		{Pointer: "/spec/taints/0/key", Detail: "is empty"}, {Pointer: "/name", Detail: "is long"}, {Pointer: "/labels/a~1b", Detail: "is odd"},
		{Pointer: "?limit", Detail: "is high"}, {Pointer: "", Detail: "all of it"}, {},
	}})
	const want = `not valid
  ?limit: is high
  all of it
  metadata.labels.a/b: is odd
  metadata.name: is long
  spec.taints[0].key: is empty`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
