package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/objects"
	"kqueen.io/kqueen/internal/server/pages"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// Paths for programs that watch over this one, and for those who find their way.
const (
	HealthPath  = "/healthz"
	readyPath   = "/readyz"
	VersionPath = "/version"
	metricsPath = "/metrics"
	oauthPath   = "/.well-known/oauth-authorization-server"
)

// registerProbes adds what is no part of the REST API and has names that all programs know.
func registerProbes(mux *http.ServeMux, c Config, before *chain.Chain) {
	forAll := func(path string, answer http.HandlerFunc) { mux.Handle("GET "+path, before.ForAll(answer)) }
	forAll(HealthPath, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	forAll(readyPath, func(w http.ResponseWriter, r *http.Request) {
		if c.Ready != nil {
			if err := c.Ready(r.Context()); err != nil {
				Unavailable(w, r, err.Error())
				return
			}
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	forAll(VersionPath, func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, r, rest.Version{Version: c.Version, API: strings.TrimPrefix(rest.Prefix, "/api/")})
	})
	forAll(oauthPath, func(w http.ResponseWriter, r *http.Request) {
		base := chain.Of(r.Context()).Base()
		writeJSON(w, r, rest.AuthorizationServer{
			Issuer: base, DeviceAuthorizationEndpoint: base + rest.Prefix + "/device", TokenEndpoint: base + rest.Prefix + "/device/token",
			GrantTypes: []string{rest.DeviceGrant}, ResponseTypes: []string{}, AuthMethods: []string{"none"},
		})
	})
	forAll("/{$}", func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			http.Redirect(w, r, rest.PortalPath, http.StatusSeeOther)
			return
		}
		writeJSON(w, r, rest.Index{OpenAPI: "/openapi.json", Docs: "/docs", SignIn: pages.SignInPath, OAuth: oauthPath})
	})
	mux.Handle("GET "+metricsPath, before.Authenticated(measured(c, before, rights.New(c.Own, c.Cache, c.Now))))
}

// measured answers administrators of the installation with what this process has measured, as Prometheus reads it.
func measured(c Config, before *chain.Chain, may *rights.Rights) http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(before.Measures(), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kqueen_build_info", Help: "The version of KQueen, which is always 1.", ConstLabels: prometheus.Labels{"version": c.Version},
	}, func() float64 { return 1 }))
	all := prometheus.Gatherers{own}
	if c.Metrics != nil {
		all = append(all, c.Metrics)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := may.Require(r.Context(), rights.Act{Verb: "get", Resource: role.Metrics}); err != nil {
			chain.Of(r.Context()).Failure = err
			chain.WriteProblem(w, r, problem.Of(err))
			return
		}
		counted := prometheus.NewRegistry()
		counted.MustRegister(objects.Measures(r.Context(), c.Cache))
		// What cannot be measured does not hide the rest.
		promhttp.HandlerFor(append(slices.Clone(all), counted), promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, r *http.Request, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		chain.WriteProblem(w, r, problem.Of(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n'))
}

// Readiness says why the server is not ready; nil when it is.
type Readiness func(context.Context) error
