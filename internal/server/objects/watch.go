package objects

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
)

// view is a view of the kind, with what the caller asks for.
func (c collection) view(in *listInput) (*view, error) {
	matches, err := in.matcher()
	if err != nil {
		return nil, err
	}
	v := &view{source: c.callers, list: c.list(), after: in.LastEventID, fromNow: in.FromNow, wanted: matches, encode: func(o client.Object) (any, error) { return toRest(c.kind, o) }}
	if in.Selector != "" {
		if v.options.LabelSelector, err = labels.Parse(in.Selector); err != nil {
			return nil, problem.Explain(err)
		}
	}
	return v, nil
}

// watchObjects follows the collection of the path.
func (c collection) watchObjects(ctx context.Context, w http.ResponseWriter, in *listInput) error {
	namespace, err := c.namespaceOf(ctx)
	if err != nil {
		return err
	}
	still := func(ctx context.Context) error { return c.may(ctx, "watch", namespace) }
	if err := still(ctx); err != nil {
		return err
	}
	v, err := c.view(in)
	if err != nil {
		return err
	}
	v.options.Namespace, v.still = namespace, still
	return c.feed.follow(ctx, w, v)
}

// watches makes a list answer with events when it is asked to.
func watches(follow func(huma.Context, http.ResponseWriter) error) func(*huma.Operation) {
	return func(o *huma.Operation) {
		o.Middlewares = append(o.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
			if ctx.Query("watch") != "true" {
				next(ctx)
				return
			}
			r, w := humago.Unwrap(ctx)
			if err := follow(ctx, w); err != nil {
				chain.Of(ctx.Context()).Failure = err
				chain.WriteProblem(w, r, problem.Of(err))
			}
		})
	}
}

// listening hands the parameters of a list of objects to the function that follows them.
func listening(follow func(context.Context, http.ResponseWriter, *listInput) error) func(huma.Context, http.ResponseWriter) error {
	return func(ctx huma.Context, w http.ResponseWriter) error {
		in := &listInput{Watch: true, Query: Query{Filter: Filter{Provisioner: ctx.Query("provisioner"), Version: ctx.Query("version")}}}
		in.Selector, in.Name, in.Cluster, in.Ready = ctx.Query("labelSelector"), ctx.Query("name"), ctx.Query("cluster"), ctx.Query("ready")
		in.FromNow = ctx.Query("fromNow") == "true"
		var err error
		if in.LastEventID, err = lastEvent(ctx); err != nil {
			return err
		}
		return follow(ctx.Context(), w, in)
	}
}

// lastEvent is the revision from which a watch goes on.
func lastEvent(ctx huma.Context) (string, error) {
	id := ctx.Header("Last-Event-ID")
	if id == "" {
		return "", nil
	}
	if _, err := strconv.ParseUint(id, 10, 64); err != nil {
		return "", problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
			rest.FieldError{Pointer: ":Last-Event-ID", Detail: "is not a revision of a watch"})
	}
	return id, nil
}

// eventStream documents what a watch answers with.
func eventStream() *huma.MediaType {
	return &huma.MediaType{Schema: &huma.Schema{
		Type: huma.TypeString, Description: "With watch=true: events added, modified, deleted, bookmark and problem; the id is the revision.",
	}}
}
