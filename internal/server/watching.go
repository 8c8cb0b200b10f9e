package server

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"kqueen.io/kqueen/api/rest"
)

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
				requestOf(ctx.Context()).failure = err
				writeProblem(w, r, explained(err))
			}
		})
	}
}

// listening hands the parameters of a list of objects to whoever follows them.
func listening(follow func(context.Context, http.ResponseWriter, *listInput) error) func(huma.Context, http.ResponseWriter) error {
	return func(ctx huma.Context, w http.ResponseWriter) error {
		in := &listInput{Watch: true}
		in.Selector, in.Name, in.Cluster, in.Ready = ctx.Query("labelSelector"), ctx.Query("name"), ctx.Query("cluster"), ctx.Query("ready")
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
		return "", newProblem(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
			rest.FieldError{Pointer: ":Last-Event-ID", Detail: "is no revision that a watch gave"})
	}
	return id, nil
}

// eventStream documents what a watch answers with.
func eventStream() *huma.MediaType {
	return &huma.MediaType{Schema: &huma.Schema{
		Type: huma.TypeString, Description: "With watch=true: events added, modified, deleted, bookmark and problem; the id is the revision.",
	}}
}
