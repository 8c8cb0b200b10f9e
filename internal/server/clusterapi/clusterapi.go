// Package clusterapi hands calls of members on to the Kubernetes APIs of clusters. A caller brings a credential for the cluster, as kubectl
// gets one by `kqueen cluster credential`. To a cluster that takes such credentials, because KQueen hosts it, the call goes with that one. To
// one that does not know KQueen's users, an adopted one, it is made by KQueen's own credentials there, as that user, in the group that the
// credential gives. What the user may is the cluster's RBAC to say.
//
// It hides how a path is read, where a credential is found, and what of a request and of an answer does not pass. What leads to the cluster is the caller's to wire.
// Only package server imports it.
package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/kubestatus"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/issuer"
)

// Way leads to the API server of a cluster.
type Way struct {
	Server    *url.URL
	Transport http.RoundTripper
	// TakesCredentials says that the cluster takes the credentials that KQueen signs: a call goes with its caller's. Else Transport makes
	// it by KQueen's own credentials there, and it says for whom.
	TakesCredentials bool
}

// Config is what the handler stands on. All fields are required.
type Config struct {
	// Cache has the clusters.
	Cache client.Reader
	// Verify reads a credential for a cluster, as issuer.Issuer does, and Ended are the ids of what credentials were got with that has
	// ended since, by audience.
	Verify func(token, audience string) (issuer.Claims, time.Time, error)
	Ended  func(audience string) []string
	// Lead returns the way to a cluster, and makes no call.
	Lead  func(ctx context.Context, c *v1alpha1.Cluster) (Way, error)
	Chain *chain.Chain
	Log   *slog.Logger
}

type handler struct{ Config }

// Register adds the handler to a mux.
func Register(mux *http.ServeMux, c Config) {
	h := &handler{c}
	mux.Handle(rest.ClustersPath+"/", h.Chain.PlainFor(h, about, kubestatus.Refuse, h.authenticate))
}

// entry is a call that was let in.
type entry struct {
	call
	cluster *v1alpha1.Cluster
	claims  issuer.Claims
	// token is the credential itself.
	token string
}

type entryKey struct{}

// authenticate finds out who holds the credential that a request brings, and for which cluster it is. To a caller without a credential
// for it no cluster exists.
func (h *handler) authenticate(r *http.Request, known *chain.Request) error {
	token, err := takeCredential(r)
	if err != nil {
		return err
	}
	c, ok := read(r)
	if !ok {
		return access.ErrUnauthenticated
	}
	cluster := &v1alpha1.Cluster{}
	name := client.ObjectKey{Namespace: v1alpha1.NamespacePrefix + c.organization, Name: c.cluster}
	if err := h.Cache.Get(r.Context(), name, cluster); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the cluster: %w", err)
	} else if err != nil {
		return access.ErrUnauthenticated
	}
	audience := v1alpha1.TokenAudience(cluster.UID)
	claims, _, err := h.Verify(token, audience)
	if err != nil || slices.Contains(h.Ended(audience), claims.Credential) {
		return errors.Join(access.ErrUnauthenticated, err)
	}
	kind := access.User
	if strings.HasPrefix(claims.Subject, "sa:") {
		kind = access.ServiceAccount
	}
	known.Identity = access.Identity{Kind: kind, Name: claims.Subject, Credential: access.Credential{ID: claims.Credential}}
	known.Caller = chain.Caller{Name: claims.Subject}
	known.Object.UID = string(cluster.UID)
	*r = *r.WithContext(context.WithValue(r.Context(), entryKey{}, &entry{c, cluster, claims, token}))
	return nil
}

// ServeHTTP serves a call of a caller whose credential is good.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e, ok := r.Context().Value(entryKey{}).(*entry)
	if !ok { // authenticate has put it there
		kubestatus.Refuse(w, r, problem.NotFound())
		return
	}
	known := chain.Of(r.Context())
	known.Object = chain.Object{Kind: "Cluster", Organization: e.organization, Name: e.cluster.Name, UID: string(e.cluster.UID)}
	known.Detail = map[string]string{"method": r.Method, "path": e.path, "access": strings.Join(e.claims.Groups, ",")}
	way, err := h.Lead(r.Context(), e.cluster)
	if err != nil {
		unanswered(w, r, err)
		return
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { rewrite(p, way, e, known.ID) },
		Transport: way.Transport, FlushInterval: -1, ModifyResponse: way.modify, ErrorHandler: unanswered,
		ErrorLog: slog.NewLogLogger(h.Log.Handler(), slog.LevelDebug),
	}
	if !e.long {
		proxy.ServeHTTP(w, r)
		return
	}
	still := func(context.Context) error {
		if slices.Contains(h.Ended(e.claims.Audience), e.claims.Credential) {
			return access.ErrUnauthenticated
		}
		return nil
	}
	if err := h.Chain.Follow(w, r, still, proxy.ServeHTTP); err != nil {
		kubestatus.Refuse(w, r, problem.Of(err))
	}
}

// rewrite makes the request to the cluster: as the user whom the credential names, and without what is between the caller and KQueen.
func rewrite(p *httputil.ProxyRequest, way Way, e *entry, id string) {
	base := strings.TrimSuffix(way.Server.Path, "/")
	*p.Out.URL = url.URL{Scheme: way.Server.Scheme, Host: way.Server.Host, Path: base + e.path, RawPath: base + e.escaped, RawQuery: p.In.URL.RawQuery}
	p.Out.Host = ""
	for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer"} {
		p.Out.Header.Del(name)
	}
	for name := range p.Out.Header {
		if strings.HasPrefix(name, "Impersonate-") {
			p.Out.Header.Del(name)
		}
	}
	if p.In.Header.Get("Origin") != "" && isWebSocket(p.In) {
		// Some WebSockets of API servers want one. Whose page it was is no matter: a credential came along.
		p.Out.Header.Set("Origin", way.Server.Scheme+"://"+way.Server.Host)
	}
	if way.TakesCredentials {
		p.Out.Header.Set("Authorization", "Bearer "+e.token)
		return
	}
	p.Out.Header.Set("Impersonate-User", v1alpha1.TokenPrefix+e.claims.Subject)
	p.Out.Header.Add("Impersonate-Group", "system:authenticated")
	for _, group := range e.claims.Groups {
		p.Out.Header.Add("Impersonate-Group", v1alpha1.TokenPrefix+group)
	}
	p.Out.Header.Set("Impersonate-Extra-Kqueen.io%2frequest-Id", id) // API servers read it without case
}

var (
	// errOwnCredential says that the cluster did not take KQueen's own credential, which is no matter of the caller's.
	errOwnCredential = errors.New("the cluster refuses KQueen's own credentials")
	// errNotTaken says that the cluster did not take a credential that KQueen has signed and found good.
	errNotTaken = errors.New("the cluster refuses a credential that is valid")
)

// modify keeps back what an answer may not say in KQueen's name. A hostile cluster could otherwise set cookies, and have the caller sign
// in again.
func (way Way) modify(answer *http.Response) error {
	for _, name := range []string{
		"Set-Cookie", "Www-Authenticate", "Strict-Transport-Security", "Alt-Svc", "Location", "Refresh", "Clear-Site-Data", "Access-Control-Allow-Origin",
		"Access-Control-Allow-Credentials", "Content-Security-Policy", "X-Content-Type-Options", "Cache-Control", "X-Request-Id",
	} {
		answer.Header.Del(name) // the chain has set its own where there is one
	}
	switch {
	case answer.StatusCode != http.StatusUnauthorized:
		return nil
	case way.TakesCredentials:
		return errNotTaken
	default:
		return errOwnCredential
	}
}

// unanswered answers a call that the cluster did not.
func unanswered(w http.ResponseWriter, r *http.Request, err error) {
	chain.Of(r.Context()).Failure = err
	if errors.Is(err, context.Canceled) {
		return // the caller has gone away
	}
	detail := "the cluster's API server does not answer now; see: kqueen cluster describe"
	switch {
	case errors.Is(err, errNotTaken):
		detail = "the cluster's API server does not take credentials of KQueen now, as while it starts; retry, and see: kqueen cluster describe"
	case errors.Is(err, errOwnCredential):
		detail = "the cluster does not take the credentials that it was imported with; its operator sets others with: kqueen cluster import"
	}
	kubestatus.Refuse(w, r, problem.New(http.StatusServiceUnavailable, rest.CodeUnavailable, detail))
}
