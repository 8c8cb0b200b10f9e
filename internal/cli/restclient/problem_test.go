package restclient

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kqueen.io/kqueen/api/rest"
	kqueen "kqueen.io/kqueen/client"
)

func TestExplain(t *testing.T) {
	tests := map[string]struct {
		reason  string
		problem kqueen.Problem
		is      func(error) bool
	}{
		"NotFound":     {"", kqueen.Problem{Status: 404, Code: rest.CodeNotFound}, apierrors.IsNotFound},
		"Exists":       {"", kqueen.Problem{Status: 409, Code: rest.CodeExists}, apierrors.IsAlreadyExists},
		"Conflict":     {"", kqueen.Problem{Status: 409, Code: rest.CodeConflict}, apierrors.IsConflict},
		"Changed":      {"What If-Match did not meet is a conflict.", kqueen.Problem{Status: 412, Code: rest.CodeChanged}, apierrors.IsConflict},
		"NeedsMatch":   {"", kqueen.Problem{Status: 428, Code: rest.CodeNeedsMatch}, apierrors.IsConflict},
		"Gone":         {"Who follows has to list again.", kqueen.Problem{Status: 410, Code: rest.CodeGone}, apierrors.IsResourceExpired},
		"Forbidden":    {"", kqueen.Problem{Status: 403, Code: rest.CodeForbidden}, apierrors.IsForbidden},
		"Quota":        {"", kqueen.Problem{Status: 403, Code: rest.CodeQuotaExceeded}, apierrors.IsForbidden},
		"Unauthorized": {"", kqueen.Problem{Status: 401, Code: rest.CodeUnauthenticated}, apierrors.IsUnauthorized},
		"Invalid":      {"", kqueen.Problem{Status: 422, Code: rest.CodeInvalid}, apierrors.IsInvalid},
		"TooMany":      {"", kqueen.Problem{Status: 429, Code: rest.CodeTooMany}, apierrors.IsTooManyRequests},
		"TooLarge":     {"", kqueen.Problem{Status: 413, Code: rest.CodeTooLarge}, apierrors.IsRequestEntityTooLargeError},
		"Unavailable":  {"", kqueen.Problem{Status: 503, Code: rest.CodeUnavailable}, apierrors.IsServiceUnavailable},
		"Proxy":        {"Others on the way say no without a code.", kqueen.Problem{Status: 502}, apierrors.IsInternalError},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.problem.Detail = "in words"
			err := fmt.Errorf("get cluster demo: %w", explain(&tc.problem, "Cluster", "demo"))
			if !tc.is(err) || err.Error() != "get cluster demo: in words" {
				t.Errorf("%s got %v", tc.reason, err)
			}
			if p, ok := errors.AsType[*kqueen.Problem](err); !ok || p != &tc.problem {
				t.Error("the problem itself is lost")
			}
		})
	}
	if err := explain(io.EOF, "Cluster", "demo"); !errors.Is(err, io.EOF) {
		t.Errorf("what is no problem is %v", err)
	}
	if err := explain(nil, "Cluster", "demo"); err != nil {
		t.Errorf("nothing is %v", err)
	}
}

func TestCauses(t *testing.T) {
	p := &kqueen.Problem{Status: 422, Code: rest.CodeInvalid, Detail: "the request is not valid", Errors: []kqueen.FieldError{
		{Pointer: "/spec/taints/0/key", Detail: "is empty"}, {Pointer: "/name", Detail: "is long"}, {Pointer: "/labels/a~1b", Detail: "is odd"},
		{Pointer: "?limit", Detail: "is high"}, {Pointer: "", Detail: "all of it"}, {},
	}}
	var got []string
	for _, c := range statusOf(p, "NodePool", "a").Details.Causes {
		got = append(got, c.Field+": "+c.Message)
	}
	want := []string{"spec.taints[0].key: is empty", "metadata.name: is long", "metadata.labels.a/b: is odd", "?limit: is high", ": all of it"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
