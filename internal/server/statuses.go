package server

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
)

// problemMedia is RFC 9457's.
const problemMedia = "application/problem+json"

// documentStatuses puts every status that can come into the document, and our own problems in the place of huma's.
func documentStatuses(api *huma.OpenAPI) {
	schemas := api.Components.Schemas
	ours := schemas.Schema(reflect.TypeFor[rest.Problem](), true, "")
	delete(schemas.Map(), "ErrorModel")
	delete(schemas.Map(), "ErrorDetail")
	for _, item := range api.Paths {
		for _, o := range chain.OperationsOf(item) {
			for _, response := range o.Responses {
				if media := response.Content[problemMedia]; media != nil {
					media.Schema = ours
				}
			}
			for _, status := range statusesOf(o) {
				documentStatus(o, status, ours)
			}
		}
	}
}

// documentStatus adds one to what the document has of an operation.
func documentStatus(o *huma.Operation, status int, ours *huma.Schema) {
	key := strconv.Itoa(status)
	r := o.Responses[key]
	if r == nil {
		r = &huma.Response{Description: http.StatusText(status)}
		o.Responses[key] = r
	}
	if status < http.StatusBadRequest {
		return
	}
	if r.Content == nil {
		r.Content = map[string]*huma.MediaType{}
	}
	r.Content[problemMedia] = &huma.MediaType{Schema: ours}
	if status == http.StatusTooManyRequests {
		r.Headers = map[string]*huma.Param{"Retry-After": {
			Description: "In how many seconds to try again.", Schema: &huma.Schema{Type: huma.TypeInteger},
		}}
	}
}

// statusesOf are those that an operation can answer beside that of success: by what goes through the chain, by its body, by what it
// does to the admin plane, and by the headers that it takes. It is pure.
func statusesOf(o *huma.Operation) []int {
	all := []int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
	}
	if o.RequestBody != nil {
		all = append(all, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if o.Method != http.MethodGet {
		all = append(all, http.StatusConflict)
	}
	takes := func(header string) bool {
		return slices.ContainsFunc(o.Parameters, func(p *huma.Param) bool { return p.In == "header" && http.CanonicalHeaderKey(p.Name) == header })
	}
	for header, statuses := range map[string][]int{
		"If-Match":      {http.StatusPreconditionFailed, http.StatusPreconditionRequired},
		"If-None-Match": {http.StatusNotModified},
		"Last-Event-Id": {http.StatusGone},
	} {
		if takes(header) {
			all = append(all, statuses...)
		}
	}
	return all
}
