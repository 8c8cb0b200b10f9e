package chain

import (
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/problem"
)

// Public marks an operation that unauthenticated callers may use. All others need an authenticated caller.
func Public(o *huma.Operation) {
	o.Security, o.MaxBodyBytes = []map[string][]string{}, maxPublicBody
}

// OfAccount marks an operation of the caller's own account, which the owner of the machine does not have.
func OfAccount(o *huma.Operation) {
	o.Middlewares = append(o.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
		if Of(ctx.Context()).Identity.Kind != OwnerKind {
			next(ctx)
			return
		}
		refuse(ctx, problem.New(http.StatusForbidden, rest.CodeForbidden, "the owner of the machine has no account; sign in as a user for that"))
	})
}

// IsPublic says whether an operation is for all.
func IsPublic(o *huma.Operation) bool { return o.Security != nil && len(o.Security) == 0 }

// maxBody is how much of a request is read, in bytes, and maxPublicBody how much of those who have not said who they are.
const (
	maxBody       = 1 << 20
	maxPublicBody = 16 << 10
)

// Operation describes a route of the REST API.
func Operation(method, path, id, summary, tag string, options ...func(*huma.Operation)) huma.Operation {
	o := huma.Operation{
		Method: method, Path: rest.Prefix + path, OperationID: id, Summary: summary, Tags: []string{tag}, MaxBodyBytes: maxBody,
		Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusTooManyRequests},
	}
	for _, option := range options {
		option(&o)
	}
	return o
}

// Answer is an answer with a body.
type Answer[T any] struct{ Body T }

// InOrganization is in the path of what belongs to an organization.
type InOrganization struct {
	Organization string `path:"organization" maxLength:"40"`
}

// OperationsOf returns the operations of a path.
func OperationsOf(item *huma.PathItem) []*huma.Operation {
	var all []*huma.Operation
	for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

// ToProblem makes a problem of every error, and says which request it was the answer to. What is for the log alone goes
// there.
func ToProblem(ctx huma.Context, _ string, v any) (any, error) {
	r := Of(ctx.Context())
	if e, ok := v.(*huma.ErrorModel); ok && e.Status == http.StatusInternalServerError && r.torn {
		v = &huma.ErrorModel{Status: http.StatusBadRequest, Detail: "the body is incomplete"}
	}
	p, cause := problem.From(v)
	if p == nil {
		return v, nil
	}
	if cause != nil {
		r.Failure = cause
	}
	address := ctx.URL()
	p.RequestID, p.Instance = r.ID, address.Path
	return p, nil
}

// refuse answers by huma, so that the handlers around see the status.
func refuse(ctx huma.Context, p *problem.Problem) {
	address := ctx.URL()
	p.RequestID, p.Instance = Of(ctx.Context()).ID, address.Path
	data, err := json.Marshal(p)
	if err != nil { // a problem is texts and numbers
		data = nil
	}
	ctx.SetHeader("Content-Type", p.ContentType(""))
	ctx.SetStatus(p.Status)
	_, _ = ctx.BodyWriter().Write(data)
}

// WriteProblem answers outside of huma.
func WriteProblem(w http.ResponseWriter, r *http.Request, p *problem.Problem) {
	p.RequestID, p.Instance = Of(r.Context()).ID, r.URL.Path
	w.Header().Set("Content-Type", p.ContentType(""))
	data, err := json.Marshal(p)
	if err != nil { // a problem is texts and numbers
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(data)
}
