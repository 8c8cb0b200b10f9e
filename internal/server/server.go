// Package server is the one way in by HTTP: the REST API, its reference, and the pages on which users sign in.
//
// It wires. One chain is in front of everything (package chain); handlers are in packages by subject (objects, catalogue, fleet, secrets,
// accounts, auditlog, pages); what a caller may do is decided by the API server of the admin plane, which every call is made at as
// the caller (rights asks it). The owner of the machine comes by a local socket (package socket) through the same handler.
//
// Only the package that wires the program may import it.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/docs"
	"kqueen.io/kqueen/internal/clusters/tunnel"
	"kqueen.io/kqueen/internal/platform/idempotency"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/server/accounts"
	"kqueen.io/kqueen/internal/server/agents"
	"kqueen.io/kqueen/internal/server/auditlog"
	"kqueen.io/kqueen/internal/server/body"
	"kqueen.io/kqueen/internal/server/catalogue"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/clusterapi"
	"kqueen.io/kqueen/internal/server/fleet"
	"kqueen.io/kqueen/internal/server/kubeapi"
	"kqueen.io/kqueen/internal/server/objects"
	"kqueen.io/kqueen/internal/server/pages"
	"kqueen.io/kqueen/internal/server/portal"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/reference"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/server/secrets"
	"kqueen.io/kqueen/internal/server/site"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
	"kqueen.io/kqueen/internal/tenancy/issuer"
	"kqueen.io/kqueen/internal/tenancy/organization"
	"kqueen.io/kqueen/web"
)

// Config is what the server stands on. All fields but Inventory, Ready and Metrics are required.
type Config struct {
	// Plane is the way to the admin plane on which every call is made as the user that the context names.
	Plane kube.Impersonation
	// Own asks the admin plane who may do what, and follows what callers see over several organizations.
	Own client.WithWatch
	// Cache is what lists are read from. See [Index].
	Cache  client.Reader
	Access *access.Service
	Audit  *audit.Log
	Limits *organization.Limits
	// Addons are those that clusters can have.
	Addons catalogue.Addons
	// Inventory is what was observed in clusters; nil where none is kept.
	Inventory *fleet.Store
	// Reach is the way to what clusters themselves are asked.
	Reach fleet.Reach
	// DryRun says what an upgrade of a cluster would be.
	DryRun fleet.DryRun
	// ClusterLog opens the audit logs of clusters' own API servers.
	ClusterLog auditlog.ClusterLog
	// Answers are kept for callers who ask again.
	Answers *idempotency.Store
	// Issuer signs credentials for clusters.
	Issuer *issuer.Issuer
	// Adopted knows the clusters that others run.
	Adopted secrets.Adopted
	// Agents are those in clusters that nothing can dial.
	Agents Agents
	// Address is where clients on the local socket reach this server by HTTPS.
	Address secrets.Address
	// Lead returns the way to a cluster, and Ended are the ids of what credentials for a cluster were got with that has ended
	// since, by audience.
	Lead  func(ctx context.Context, c *v1alpha1.Cluster) (clusterapi.Way, error)
	Ended func(audience string) []string
	// Key signs cursors; 32 bytes, kept over restarts.
	Key     []byte
	Version string
	// Ready says whether callers can be served; nil where they always can.
	Ready Readiness
	// Metrics are what else this process has measured; nil for nothing.
	Metrics prometheus.Gatherer
	Log     *slog.Logger
	Now     func() time.Time
}

// Agents is what the server knows of agents.
type Agents struct {
	// Sessions are those that are connected.
	Sessions *tunnel.Sessions
	// Pin and Image are those of [agents.Server].
	Pin   func() string
	Image string
}

// IssuerPath is where the keys are by which API servers check credentials. It is for all.
const IssuerPath = "/issuer"

// Server is the handler of all that. Make it with New.
type Server struct {
	api     huma.API
	handler http.Handler
	streams *chain.Streams
}

// New returns a server whose routes are all there.
func New(c Config) (*Server, error) {
	if len(c.Key) != 32 {
		return nil, errors.New("key of the server: want 32 bytes")
	}
	callers, err := c.Plane.Client(c.Own.Scheme())
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	providers := identityprovider.Source{Providers: c.Cache, Secrets: c.Own}
	before := chain.New(chain.Config{
		Credentials: c.Access.Credentials, Providers: providers, Cache: c.Cache, Audit: c.Audit, Answers: c.Answers, Log: c.Log, Now: c.Now,
	})
	s := &Server{api: humago.New(mux, apiConfig(c.Version)), handler: before.Handler(mux), streams: before.Streams}
	s.api.UseMiddleware(before.Middlewares()...)
	flows := &accounts.Flows{Passwords: c.Access.Passwords, Users: c.Access.Users, Devices: c.Access.Devices}
	if err := register(s.api, c, callers, before, providers, flows); err != nil {
		return nil, err
	}
	documentStatuses(s.api.OpenAPI())
	err = pages.Register(mux, pages.Config{
		Flows: flows, Setup: c.Access.Setup, Passwords: c.Access.Passwords, Sessions: c.Access.Credentials, Codes: c.Access.Codes, ProviderSignIns: c.Access.Providers, Providers: providers,
		Identities: before.Identities, Recorder: before.Recorder, Key: c.Key, Now: c.Now,
	})
	if err != nil {
		return nil, err
	}
	site.Register(mux, docs.Pages)
	files, err := web.Files()
	if err != nil {
		return nil, fmt.Errorf("read the portal: %w", err)
	}
	portal.Register(mux, files)
	reference.Register(mux, s.api.OpenAPI())
	registerProbes(mux, c, before)
	kubeapi.Register(mux, kubeapi.Config{Plane: c.Plane, Callers: callers, Chain: before, Log: c.Log})
	agents.RegisterPaths(mux, agentsOf(c, callers, before))
	clusterapi.Register(mux, clusterapi.Config{Cache: c.Cache, Verify: c.Issuer.Verify, Ended: c.Ended, Lead: c.Lead, Chain: before, Log: c.Log})
	mux.Handle(IssuerPath+"/", http.StripPrefix(IssuerPath, c.Issuer.Handler()))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { chain.WriteProblem(w, r, problem.NotFound()) })
	return s, nil
}

// register adds all operations of the REST API.
func register(api huma.API, c Config, callers client.WithWatch, before *chain.Chain, providers identityprovider.Source, flows *accounts.Flows) error {
	may := rights.New(c.Own, c.Cache, c.Now)
	err := objects.Register(api, objects.Config{
		Callers: callers, Own: c.Own, Cache: c.Cache, Rights: may, Streams: before.Streams, Limits: c.Limits, Key: c.Key,
	})
	if err != nil {
		return err
	}
	secrets.Register(api, secrets.Config{
		Callers: callers, Own: c.Own, Rights: may, Providers: providers, Issuer: c.Issuer, Entries: c.Access.Entries, Adopted: c.Adopted,
		Address: c.Address, Now: c.Now,
	})
	agents.Register(api, agentsOf(c, callers, before))
	accounts.Register(api, accounts.Config{Access: c.Access, Flows: flows, Providers: providers, Callers: callers, Rights: may})
	auditlog.Register(api, c.Audit, may, before.Streams, c.Own, c.ClusterLog)
	catalogue.Register(api, callers, may, c.Addons)
	fleet.Register(api, fleet.Config{Store: c.Inventory, Callers: callers, Rights: may, Reach: c.Reach, DryRun: c.DryRun, Now: c.Now})
	return nil
}

func agentsOf(c Config, callers client.Client, before *chain.Chain) agents.Config {
	return agents.Config{
		Callers: callers, Own: c.Own, Cache: c.Cache, Rights: rights.New(c.Own, c.Cache, c.Now), Chain: before, Adopted: c.Adopted,
		Sessions: c.Agents.Sessions, Server: agents.Server{Address: c.Address, Pin: c.Agents.Pin, Image: c.Agents.Image}, Now: c.Now, Log: c.Log,
	}
}

// ServeHTTP serves one request, from the beginning of the chain.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Unavailable answers a request that cannot be served now, before the chain.
func Unavailable(w http.ResponseWriter, r *http.Request, detail string) {
	chain.WriteProblem(w, r, problem.New(http.StatusServiceUnavailable, rest.CodeUnavailable, detail))
}

// Close ends the streams, so that the HTTP server can end.
func (s *Server) Close() { s.streams.Close() }

// OpenAPI is the document of all routes.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.api.OpenAPI() }

// Index makes the cache find the organizations of a caller. Call it before the cache is filled.
func Index(ctx context.Context, cache client.FieldIndexer) error { return chain.Index(ctx, cache) }

// Kinds returns an object of each kind that lists are read from, so that their caches can be filled before.
func Kinds() []client.Object { return objects.Kinds() }

func apiConfig(version string) huma.Config {
	config := huma.DefaultConfig("KQueen", "v1")
	config.Info.Description = "Kubernetes as a service: organizations, clusters and their nodes. KQueen " + version + "."
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "/openapi", "", ""
	config.RejectUnknownQueryParameters = true
	config.CreateHooks = nil // no "$schema" in answers
	format := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: body.Unmarshal}
	config.Formats = map[string]huma.Format{"application/json": format, "json": format}
	config.Transformers = []huma.Transformer{chain.ToProblem}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "A session of POST " + rest.Prefix + "/signin, or an API token."},
	}
	config.Security = []map[string][]string{{"token": {}}}
	return config
}
