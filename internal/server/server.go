// Package server is the door: everybody who comes in by HTTP comes in here.
//
// One chain stands before everything: a name for the request, the log, a guard
// against panics, limits, then who it is, then the action log. What somebody may
// do is not decided here: the door makes every call to the admin plane as whoever
// asked, and the API server there decides. The nouns of the admin plane are served
// from one table; what is kept in SQL (who signs in, what was done) has files of
// its own.
//
// Only the place that wires the program enters.
package server

import (
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/idempotency"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
	"kqueen.io/kqueen/internal/tenancy/issuer"
	"kqueen.io/kqueen/internal/tenancy/organization"
)

// Config is what the door stands on. All fields are required.
type Config struct {
	// Callers makes every call as whoever the context names: see kube.Impersonating.
	Callers client.WithWatch
	// Own asks the admin plane who may do what, and follows what callers see over several organizations.
	Own client.WithWatch
	// Cache is what lists are read from. See [Index].
	Cache  client.Reader
	Access *access.Service
	Audit  *audit.Log
	Limits *organization.Limits
	// Answers are kept for those who ask again.
	Answers *idempotency.Store
	// Issuer signs credentials for clusters.
	Issuer *issuer.Issuer
	// Key signs cursors; 32 bytes, kept over restarts.
	Key     []byte
	Version string
	Log     *slog.Logger
	Now     func() time.Time
}

// IssuerPath is where the keys are by which API servers check credentials. It is for everybody.
const IssuerPath = "/issuer"

// Server is the door. Make it with New.
type Server struct {
	Config
	authority *kube.Authority
	cursors   cursors
	strangers *strangers
	entrance  *entrance
	// callers are the requests of those who are somebody, publics those of operations that are for everybody.
	callers, publics *shares
	streams          streams
	api              huma.API
	handler          http.Handler
	templates        *template.Template

	closing chan struct{}
	close   sync.Once
}

// New returns a door whose routes are all there.
func New(c Config) (*Server, error) {
	if len(c.Key) != 32 {
		return nil, errors.New("key of the door: want 32 bytes")
	}
	s := &Server{
		Config: c, authority: kube.NewAuthority(c.Own, c.Now), cursors: cursors{c.Key}, strangers: newStrangers(), streams: streams{of: map[string]int{}}, closing: make(chan struct{}),
		entrance: newEntrance(), callers: newShares(maxRequests, maxRequestsOfOne, sureOfCaller), publics: newShares(maxStrangers, maxStrangersOfOne, sureOfStranger),
	}
	mux := http.NewServeMux()
	s.api = humago.New(mux, apiConfig(c.Version))
	s.api.UseMiddleware(s.identify, s.once, s.record)
	if err := s.routes(); err != nil {
		return nil, err
	}
	if err := errors.Join(s.registerPages(mux), s.serveReference(mux)); err != nil {
		return nil, err
	}
	mux.Handle(IssuerPath+"/", http.StripPrefix(IssuerPath, c.Issuer.Handler()))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { writeProblem(w, r, notFound()) })
	s.handler = s.chain(mux)
	return s, nil
}

// ServeHTTP serves one request, from the beginning of the chain.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends the streams, so that whoever serves can end.
func (s *Server) Close() { s.close.Do(func() { close(s.closing) }) }

// OpenAPI is the document of all routes.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.api.OpenAPI() }

func apiConfig(version string) huma.Config {
	config := huma.DefaultConfig("KQueen", "v1")
	config.Info.Description = "Kubernetes as a service: organizations, clusters and their nodes. KQueen " + version + "."
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "/openapi", "", ""
	config.RejectUnknownQueryParameters = true
	config.CreateHooks = nil // no "$schema" in answers
	config.Transformers = []huma.Transformer{toProblem}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "A session of POST " + rest.Prefix + "/signin, or an API token."},
	}
	config.Security = []map[string][]string{{"token": {}}}
	return config
}

// public marks an operation that takes nobody in particular. Everything else wants to know who it is.
func public(o *huma.Operation) {
	o.Security, o.MaxBodyBytes = []map[string][]string{}, maxPublicBody
}

// ofAccount marks an operation of the caller's own account, which the owner of the machine does not have.
func ofAccount(o *huma.Operation) {
	o.Middlewares = append(o.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
		if requestOf(ctx.Context()).identity.Kind != ownerKind {
			next(ctx)
			return
		}
		refuse(ctx, newProblem(http.StatusForbidden, rest.CodeForbidden, "the owner of the machine has no account; sign in as a user for that"))
	})
}

func isPublic(o *huma.Operation) bool { return o.Security != nil && len(o.Security) == 0 }

// maxBody is how much of a request is read, in bytes, and maxPublicBody how much of those who have not said who they are.
const (
	maxBody       = 1 << 20
	maxPublicBody = 16 << 10
)

// operation describes a route.
func operation(method, path, id, summary, tag string, options ...func(*huma.Operation)) huma.Operation {
	o := huma.Operation{
		Method: method, Path: rest.Prefix + path, OperationID: id, Summary: summary, Tags: []string{tag}, MaxBodyBytes: maxBody,
		Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusTooManyRequests},
	}
	for _, option := range options {
		option(&o)
	}
	return o
}
