// Package pages are what a browser sees of KQueen: signing in, answering a device, and letting a command line in. Pages take a
// cookie and no token, and forms of their own alone. It hides how forms are told from those of
// other sites. Sessions are package access's, and what the audit log has of a visit is written by the chain.
package pages

import (
	"context"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"time"

	"kqueen.io/kqueen/internal/server/accounts"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/access/oidc"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
)

//go:embed files
var pageFiles embed.FS

// Config is what the pages stand on.
type Config struct {
	Flows *accounts.Flows
	// Setup creates the first administrator.
	Setup interface {
		MakeAdmin(ctx context.Context, token string, admin access.NewUser) (access.UserInfo, error)
	}
	// Passwords has users choose theirs with one-time tokens.
	Passwords interface {
		Choose(ctx context.Context, token, password string) error
	}
	// Sessions ends those of browsers.
	Sessions interface {
		Revoke(ctx context.Context, accountName, id string) error
	}
	// Codes lets command lines in.
	Codes interface {
		Create(ctx context.Context, by access.Identity, request access.CodeRequest) (access.OneTime, error)
	}
	ProviderSignIns ProviderSignIns
	Providers       identityprovider.Source
	Identities      *chain.Identities
	Recorder        *chain.Recorder
	// Key proves that a form is one of ours; 32 bytes.
	Key []byte
	Now func() time.Time
}

// ProviderSignIns sign users in at identity providers, as access.Providers does.
type ProviderSignIns interface {
	Begin(ctx context.Context, p oidc.Provider, next string, from access.Origin) (access.ProviderStart, error)
	Finish(
		ctx context.Context, find func(ctx context.Context, name string) (oidc.Provider, error), cookie string,
		callback oidc.Callback,
	) (issued access.Issued, next string, err error)
}

// Pages serve what browsers ask for.
type Pages struct {
	Config
	templates *template.Template
}

// Register adds the pages to a mux.
func Register(mux *http.ServeMux, c Config) error {
	all, err := template.ParseFS(pageFiles, "files/*.html")
	if err != nil {
		return fmt.Errorf("read the pages: %w", err)
	}
	s := &Pages{Config: c, templates: all}
	for pattern, p := range s.pages() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.visited(w, r, p) })
	}
	mux.HandleFunc("GET /pages.css", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		http.ServeFileFS(w, r, pageFiles, "files/pages.css")
	})
	return nil
}

func (s *Pages) pages() map[string]page {
	return map[string]page{
		"GET /signin":                     {act: s.showSignIn},
		"POST /signin":                    {"sign-in", s.takePassword},
		"POST /signout":                   {"sign-out", s.leave},
		"GET /signin/{provider}":          {"sign-in", s.goToProvider},
		"GET /signin/{provider}/callback": {"sign-in", s.comeBack},
		"GET " + accounts.DevicePath:      {act: s.showDevice},
		"POST " + accounts.DevicePath:     {"answer-device", s.takeDevice},
		"GET " + setupPath:                {act: s.setup().ask},
		"POST " + setupPath:               {"set-up", s.setup().take},
		"GET " + choosePath:               {act: s.choose().ask},
		"POST " + choosePath:              {"choose-password", s.choose().take},
		"GET " + authorizePath:            {act: s.showAuthorize},
		"POST " + authorizePath:           {"authorize", s.takeAuthorize},
	}
}

// Patterns are the methods and paths of the pages, in order.
func Patterns() []string { return slices.Sorted(maps.Keys((&Pages{}).pages())) }

// visited serves one visit, from who it is to the audit log.
func (s *Pages) visited(w http.ResponseWriter, r *http.Request, p page) {
	a := &chain.Answered{ResponseWriter: w}
	v := &visit{Request: chain.Of(r.Context()), pages: s, w: a, r: r}
	v.Arrive(r)
	h := w.Header()
	h.Set("Content-Security-Policy", fmt.Sprintf(pagePolicy, ""))
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	// With "no-referrer" browsers would not say where a form comes from, which is checked.
	h.Set("Referrer-Policy", "same-origin")
	entry := chain.Entry{Action: p.action, Operation: r.Pattern}
	act := func() int {
		if err := p.act(v); err != nil {
			v.fail(err)
		}
		return a.Status
	}
	if err := v.begin(); err != nil {
		v.fail(err)
		if p.action != "" {
			s.Recorder.Refused(r.Context(), entry, a.Status)
		}
		return
	}
	if p.action == "" {
		act()
		return
	}
	if err := s.Recorder.Around(r.Context(), entry, act); err != nil {
		v.fail(err)
	}
}
