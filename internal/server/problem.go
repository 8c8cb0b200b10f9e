package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/tenancy/access/password"
	"kqueen.io/kqueen/internal/tenancy/organization"
)

// problem is a rest.Problem as huma sends errors.
type problem struct{ rest.Problem }

// GetStatus implements huma.StatusError.
func (p *problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return "application/problem+json" }

// problemBase is where problems are explained, a heading for each code.
const problemBase = "https://kqueen.io/docs/api#"

func newProblem(status int, code, detail string, fields ...rest.FieldError) *problem {
	return &problem{rest.Problem{
		Type: problemBase + code, Title: http.StatusText(status), Status: status, Detail: detail, Code: code, Errors: fields,
		Retryable: status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || code == rest.CodeConflict,
	}}
}

// notFound is the one answer for what is not there and for what is somebody else's.
func notFound() *problem {
	return newProblem(http.StatusNotFound, rest.CodeNotFound, "there is nothing of that name, or it is not for you")
}

// explain makes a problem of what an act on the admin plane ended with. What the API server says of the request is
// handed on; what went wrong inside is not.
func explain(err error) error {
	var known *problem
	if err == nil || errors.As(err, &known) {
		return err
	}
	if errors.Is(err, password.ErrBusy) {
		return newProblem(http.StatusTooManyRequests, rest.CodeTooMany, "too many passwords are being checked; come again in a moment")
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return newProblem(http.StatusServiceUnavailable, rest.CodeUnavailable, "the admin plane did not answer in time")
		}
		return internal(err)
	}
	said := status.Status()
	switch {
	case apierrors.IsNotFound(err):
		return notFound()
	case apierrors.IsAlreadyExists(err):
		return newProblem(http.StatusConflict, rest.CodeExists, "there is one of that name already")
	case apierrors.IsConflict(err):
		return newProblem(http.StatusConflict, rest.CodeConflict, "it was changed meanwhile; read it again and try again")
	case apierrors.IsForbidden(err):
		return forbidden(said)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return newProblem(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid", causes(said)...)
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return newProblem(http.StatusGone, rest.CodeGone, "the revision is too old to go on from; list again")
	case apierrors.IsTooManyRequests(err):
		return newProblem(http.StatusTooManyRequests, rest.CodeTooMany, "the admin plane is busy")
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), apierrors.IsServiceUnavailable(err):
		return newProblem(http.StatusServiceUnavailable, rest.CodeUnavailable, "the admin plane did not answer in time")
	}
	return internal(err)
}

// hidden is an error whose text is for the log alone.
type hidden struct {
	*problem
	cause error
}

func (h *hidden) Unwrap() error { return h.cause }

func internal(err error) error {
	return &hidden{newProblem(http.StatusInternalServerError, rest.CodeInternal, "something went wrong inside; the server's log has the request id"), err}
}

// forbidden tells a refusal by admission, which says what the field should be, from one by RBAC.
func forbidden(said metav1.Status) *problem {
	if said.Details == nil || len(said.Details.Causes) == 0 {
		return newProblem(http.StatusForbidden, rest.CodeForbidden, "your role does not allow that")
	}
	for _, c := range said.Details.Causes {
		if c.Type == organization.CauseQuotaExceeded {
			return newProblem(http.StatusForbidden, rest.CodeQuotaExceeded, c.Message, causes(said)...)
		}
	}
	return newProblem(http.StatusForbidden, rest.CodeForbidden, said.Details.Causes[0].Message, causes(said)...)
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

// toProblem makes ours of every error, and says which request it was the answer to. What is for the log alone goes
// there.
func toProblem(ctx huma.Context, _ string, v any) (any, error) {
	var p *problem
	r := requestOf(ctx.Context())
	switch e := v.(type) {
	case *problem:
		p = e
	case *hidden:
		p, r.failure = e.problem, e.cause
	case *huma.ErrorModel:
		if e.Status == http.StatusInternalServerError && r.torn {
			e = &huma.ErrorModel{Status: http.StatusBadRequest, Detail: "the body did not come to its end"}
		}
		p = ofForm(e)
	default:
		return v, nil
	}
	address := ctx.URL()
	p.RequestID, p.Instance = r.id, address.Path
	return p, nil
}

// ofForm makes a problem of huma's own errors, which are about the form of the request.
func ofForm(model *huma.ErrorModel) *problem {
	code := rest.CodeInvalid
	switch model.Status {
	case http.StatusRequestEntityTooLarge:
		code = rest.CodeTooLarge
	case http.StatusUnsupportedMediaType:
		code = rest.CodeUnsupportedMedia
	case http.StatusInternalServerError:
		return newProblem(model.Status, rest.CodeInternal, "something went wrong inside; the server's log has the request id")
	}
	p := newProblem(model.Status, code, model.Detail)
	for _, detail := range model.Errors {
		p.Errors = append(p.Errors, rest.FieldError{Pointer: location(detail.Location), Detail: detail.Message})
	}
	return p
}

// unchanged answers 304.
func unchanged(etag string) error {
	return huma.ErrorWithHeaders(huma.Status304NotModified(), http.Header{"Etag": {etag}})
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
