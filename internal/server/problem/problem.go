// Package problem turns errors into answers of the REST API: problems as RFC 9457 has them, with a status and a
// code that programs can rely on. It is the one place that knows which error has which status. Every handler uses it.
package problem

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/tenancy/access/password"
	"kqueen.io/kqueen/internal/tenancy/organization"
)

// Problem is a rest.Problem as huma sends errors.
//
//nolint:errname // the word of RFC 9457
type Problem struct{ rest.Problem }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// problemBase is where problems are explained, a heading for each code.
const problemBase = "https://kqueen.io/docs/reference/api#"

// New returns a problem: its HTTP status, its code, what is wrong, and with which parts of the request.
func New(status int, code, detail string, fields ...rest.FieldError) *Problem {
	return &Problem{rest.Problem{
		Type: problemBase + code, Title: http.StatusText(status), Status: status, Detail: detail, Code: code, Errors: fields,
		Retryable: status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || code == rest.CodeConflict,
	}}
}

// NotFound is the one answer for what is not there and for what the caller may not see.
func NotFound() *Problem {
	return New(http.StatusNotFound, rest.CodeNotFound, "not found, or access denied")
}

// Forbidden is the answer to a caller whose role does not allow it. Needed is the lowest one that does; "" stands for administrators.
func Forbidden(needed v1alpha1.Role) *Problem {
	detail := fmt.Sprintf("this needs the role %s or higher in the organization", needed)
	switch needed {
	case "":
		detail = "only administrators of the installation may do this"
	case v1alpha1.RoleOwner:
		detail = "this needs the role owner in the organization"
	}
	return New(http.StatusForbidden, rest.CodeForbidden, detail)
}

// Changed is the answer to a caller who may do less than when they connected.
func Changed() *Problem {
	return New(http.StatusForbidden, rest.CodeForbidden, "your roles have changed; see them with GET /me")
}

// Refused is Explain for an act that needs a role.
func Refused(err error, needed v1alpha1.Role) error {
	if apierrors.IsForbidden(err) && !decidedByAdmission(err) {
		return Forbidden(needed)
	}
	return Explain(err)
}

// decidedByAdmission says whether a refusal is by admission, which says what the field should be, and not by RBAC.
func decidedByAdmission(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0
}

// Explain makes a problem of what an act ended with on the admin plane. What the API server says of the
// request is handed on; what went wrong inside is not. It is nil for nil.
func Explain(err error) error {
	var known *Problem
	var explained *hidden
	if err == nil || errors.As(err, &known) || errors.As(err, &explained) {
		return err
	}
	if errors.Is(err, password.ErrBusy) {
		return New(http.StatusTooManyRequests, rest.CodeTooMany, "too many passwords are being checked; come again in a moment")
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return New(http.StatusServiceUnavailable, rest.CodeUnavailable, "the admin plane did not answer in time")
		}
		if unanswered(err) {
			return &hidden{New(http.StatusServiceUnavailable, rest.CodeUnavailable, "what this needs does not answer now; repeat it in a moment"), err}
		}
		return internal(err)
	}
	return ofPlane(err, status.Status())
}

// unanswered says whether a request of KQueen's own ended without an answer, as those do that are under way when a program restarts.
func unanswered(err error) bool {
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err)
}

// ofPlane is the problem that the API server's answer stands for.
func ofPlane(err error, said metav1.Status) error {
	switch {
	case apierrors.IsNotFound(err):
		return NotFound()
	case apierrors.IsAlreadyExists(err):
		return New(http.StatusConflict, rest.CodeExists, "there is one of that name already")
	case apierrors.IsConflict(err):
		return New(http.StatusConflict, rest.CodeConflict, "it was changed meanwhile; read it again and try again")
	case apierrors.IsForbidden(err):
		return forbidden(said)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid", causes(said)...)
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return New(http.StatusGone, rest.CodeGone, "the revision is too old to go on from; list again")
	case apierrors.IsTooManyRequests(err):
		return New(http.StatusTooManyRequests, rest.CodeTooMany, "the admin plane is busy")
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), apierrors.IsServiceUnavailable(err):
		return New(http.StatusServiceUnavailable, rest.CodeUnavailable, "the admin plane did not answer in time")
	}
	return internal(err)
}

// inside is all that a caller is told of what went wrong inside.
const inside = "something went wrong inside; the server's log has the request id"

// hidden is an error whose text is for the log alone.
type hidden struct {
	*Problem
	cause error
}

func (h *hidden) Unwrap() error { return h.cause }

func internal(err error) error {
	return &hidden{New(http.StatusInternalServerError, rest.CodeInternal, inside), err}
}

// Unasked is the answer to a caller of whom it could not be found out whether they may: an outage, whatever it is, and no refusal.
func Unasked(cause error) error {
	return &hidden{New(http.StatusServiceUnavailable, rest.CodeUnavailable, "whether you may do that cannot be found out now; repeat it in a moment"), cause}
}

// Refuses says whether an error, which may be one of accounts, tells a caller that they may not, or are not known: others say that
// this was not found out.
func Refuses(err error) bool {
	if err == nil {
		return false
	}
	status := Of(ExplainAccess(err)).Status
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// Of is Explain for those who need a problem.
func Of(err error) *Problem {
	err = Explain(err)
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if h, ok := errors.AsType[*hidden](err); ok {
		return h.Problem
	}
	return New(http.StatusInternalServerError, rest.CodeInternal, inside)
}

// From takes what a handler answers with apart: the problem, and what is for the log alone. It is nil for what is no error.
func From(v any) (p *Problem, cause error) {
	switch e := v.(type) {
	case *Problem:
		return e, nil
	case *hidden:
		return e.Problem, e.cause
	case *huma.ErrorModel:
		return ofForm(e), nil
	}
	return nil, nil
}

// forbidden tells a refusal by admission, which says what the field should be, from one by RBAC.
func forbidden(said metav1.Status) *Problem {
	if said.Details == nil || len(said.Details.Causes) == 0 {
		return New(http.StatusForbidden, rest.CodeForbidden, "none of your roles allows this; see them with GET /me")
	}
	for _, c := range said.Details.Causes {
		if c.Type == organization.CauseQuotaExceeded {
			return New(http.StatusForbidden, rest.CodeQuotaExceeded, c.Message, causes(said)...)
		}
	}
	return New(http.StatusForbidden, rest.CodeForbidden, said.Details.Causes[0].Message, causes(said)...)
}

// FieldConflict is the answer to an apply of fields that other managers have set to other values.
func FieldConflict(err error) *Problem {
	p := New(http.StatusConflict, rest.CodeFieldConflict, "other field managers have set these fields to other values")
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return p
	}
	for _, c := range status.Status().Details.Causes {
		p.Errors = append(p.Errors, rest.FieldError{Pointer: pointer(strings.TrimPrefix(c.Field, ".")), Detail: c.Message})
	}
	return p
}

// causes turns the API server's field paths into JSON pointers.
func causes(said metav1.Status) []rest.FieldError {
	if said.Details == nil || len(said.Details.Causes) == 0 {
		return []rest.FieldError{{Pointer: "", Detail: said.Message}}
	}
	fields := make([]rest.FieldError, 0, len(said.Details.Causes))
	for _, c := range said.Details.Causes {
		fields = append(fields, rest.FieldError{Pointer: pointer(c.Field), Detail: c.Message})
	}
	return fields
}

// pointer makes "/spec/taints/0/key" of "spec.taints[0].key". "<nil>" is the API server's name for no field.
func pointer(field string) string {
	if field == "" || field == "<nil>" {
		return ""
	}
	field = strings.TrimPrefix(field, "metadata.")
	field = strings.NewReplacer("~", "~0", "/", "~1", "[", ".", "]", "").Replace(field)
	return "/" + strings.ReplaceAll(field, ".", "/")
}

// ofForm makes a problem of huma's own errors, which are about the form of the request.
func ofForm(model *huma.ErrorModel) *Problem {
	code := rest.CodeInvalid
	switch model.Status {
	case http.StatusRequestEntityTooLarge:
		code = rest.CodeTooLarge
	case http.StatusUnsupportedMediaType:
		code = rest.CodeUnsupportedMedia
	case http.StatusInternalServerError:
		return New(model.Status, rest.CodeInternal, inside)
	}
	p := New(model.Status, code, model.Detail)
	for _, detail := range model.Errors {
		p.Errors = append(p.Errors, rest.FieldError{Pointer: location(detail.Location), Detail: detail.Message})
	}
	return p
}

// Unchanged answers 304.
func Unchanged(etag string) error {
	return huma.ErrorWithHeaders(huma.Status304NotModified(), http.Header{"Etag": {etag}})
}

// Invalid makes a problem of what a validation of the body found.
func Invalid(found []error) *Problem {
	p := New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid")
	for _, err := range found {
		if detailed, ok := err.(huma.ErrorDetailer); ok {
			detail := detailed.ErrorDetail()
			p.Errors = append(p.Errors, rest.FieldError{Pointer: location(detail.Location), Detail: detail.Message})
		}
	}
	return p
}

// location makes a pointer of huma's "body.spec.x", a "?limit" of "query.limit" and a ":If-Match" of "header.If-Match".
func location(at string) string {
	where, what, _ := strings.Cut(at, ".")
	switch where {
	case "query":
		return "?" + what
	case "header":
		return ":" + what
	case "path":
		return "path:" + what
	}
	return pointer(what)
}
