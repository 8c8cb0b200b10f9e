package accounts

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// formMedia is how OAuth clients send what they say (RFC 6749, appendix B).
const formMedia = "application/x-www-form-urlencoded"

// formInput is a form. Its fields are documented by a type of package rest.
type formInput struct {
	RawBody []byte `contentType:"application/x-www-form-urlencoded"`
}

// values are the fields of the form, of which those are required. An unknown one is ignored (RFC 6749, section 3.2), and each is
// there once.
func (in *formInput) values(required ...string) (url.Values, error) {
	form, err := url.ParseQuery(string(in.RawBody))
	if err != nil {
		return nil, oauthProblem(rest.OAuthInvalidRequest, "the body has to be a form, of type "+formMedia)
	}
	for name, values := range form {
		if len(values) > 1 && name == url.QueryEscape(name) {
			return nil, oauthProblem(rest.OAuthInvalidRequest, name+" is there more than once")
		}
	}
	for _, name := range required {
		if form.Get(name) == "" {
			return nil, oauthProblem(rest.OAuthInvalidRequest, name+" is missing; it has to be in a form, of type "+formMedia)
		}
	}
	return form, nil
}

// registerForm registers an operation for OAuth clients, whose form has the fields of In.
func registerForm[In, Out any](api huma.API, act func(context.Context, *formInput) (*chain.Answer[Out], error), o huma.Operation) {
	o.Errors = nil // documented below, as OAuth has them
	huma.Register(api, o, act)
	document, registry := api.OpenAPI().Paths[o.Path].Post, api.OpenAPI().Components.Schemas
	document.RequestBody.Content[formMedia].Schema = registry.Schema(reflect.TypeFor[In](), true, "")
	document.Responses["400"] = &huma.Response{
		Description: "What OAuth clients take: error and error_description (RFC 6749, section 5.2; RFC 8628, section 3.5)",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: registry.Schema(reflect.TypeFor[rest.OAuthError](), true, "")}},
	}
}

// oauthError is an error as OAuth clients take it.
type oauthError struct{ rest.OAuthError }

func oauthProblem(code, description string) error {
	return &oauthError{rest.OAuthError{Code: code, Description: description}}
}

// Error says what a user reads.
func (e *oauthError) Error() string { return e.Description }

// GetStatus implements huma.StatusError. Whatever is wrong is a bad request (RFC 6749, section 5.2).
func (e *oauthError) GetStatus() int { return http.StatusBadRequest }

// ContentType implements huma.ContentTypeFilter.
func (e *oauthError) ContentType(string) string { return "application/json" }

// explainOAuth makes an OAuth error of why a device gets no session; what is not about the device is a problem.
func explainOAuth(err error) error {
	for _, known := range []struct {
		err               error
		code, description string
	}{
		{access.ErrAuthorizationPending, rest.OAuthAuthorizationPending, "the user has not answered yet"},
		{access.ErrSlowDown, rest.OAuthSlowDown, "you ask too often; wait five seconds more from now on"},
		{access.ErrExpiredToken, rest.OAuthExpiredToken, "the user did not answer in time; start again"},
		{access.ErrAccessDenied, rest.OAuthAccessDenied, "the user denied it, or may not sign in any more"},
		{access.ErrInvalidGrant, rest.OAuthInvalidGrant, "the code is not known, or was used; start again"},
	} {
		if errors.Is(err, known.err) {
			return oauthProblem(known.code, known.description)
		}
	}
	return problem.ExplainAccess(err)
}
