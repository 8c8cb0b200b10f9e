package server

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/tenancy/access"
)

//go:embed pages
var pageFiles embed.FS

// Cookies of the pages. The prefix keeps others, such as a neighbour under the same domain, from setting them.
const (
	sessionCookie = "__Host-kqueen"
	// attemptCookie is held by the browser that went to an identity provider.
	attemptCookie = "__Host-kqueen-attempt"
	// formCookie binds forms to the browser that was given them, also before anybody signs in.
	formCookie = "__Host-kqueen-form"
)

// pagePolicy lets a page load its style sheet from here and send its forms here; %s is for one more place.
const pagePolicy = "default-src 'none'; style-src 'self'; form-action 'self'%s; frame-ancestors 'none'; base-uri 'none'"

// maxForm is how much of a form is read, in bytes.
const maxForm = 64 << 10

// visit is one request for a page.
type visit struct {
	*request

	server *Server
	w      http.ResponseWriter
	r      *http.Request
	// seed is what forms are bound to.
	seed string
}

// page is what becomes of a visit. What it returns as an error is shown.
type page struct {
	// action is its name in the action log; pages without are not in it.
	action string
	act    func(v *visit) error
}

// registerPages adds what a browser sees. REST takes no cookie, and pages take nothing else.
func (s *Server) registerPages(mux *http.ServeMux) error {
	all, err := template.ParseFS(pageFiles, "pages/*.html")
	if err != nil {
		return fmt.Errorf("read the pages: %w", err)
	}
	s.templates = all
	for pattern, p := range s.pages() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.visited(w, r, p) })
	}
	mux.HandleFunc("GET /pages.css", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		http.ServeFileFS(w, r, pageFiles, "pages/pages.css")
	})
	return nil
}

func (s *Server) pages() map[string]page {
	return map[string]page{
		"GET /signin":                     {act: s.showSignIn},
		"POST /signin":                    {"sign-in", s.takePassword},
		"POST /signout":                   {"sign-out", s.leave},
		"GET /signin/{provider}":          {"sign-in", s.goToProvider},
		"GET /signin/{provider}/callback": {"sign-in", s.comeBack},
		"GET " + devicePath:               {act: s.showDevice},
		"POST " + devicePath:              {"answer-device", s.takeDevice},
		"GET " + authorizePath:            {act: s.showAuthorize},
		"POST " + authorizePath:           {"authorize", s.takeAuthorize},
	}
}

// visited serves one visit, from who it is to the action log.
func (s *Server) visited(w http.ResponseWriter, r *http.Request, p page) {
	a := &answered{ResponseWriter: w}
	v := &visit{request: requestOf(r.Context()), server: s, w: a, r: r}
	v.from, v.host = originOf(r), r.Host
	h := w.Header()
	h.Set("Content-Security-Policy", fmt.Sprintf(pagePolicy, ""))
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	// With "no-referrer" browsers would not say where a form comes from, which is checked.
	h.Set("Referrer-Policy", "same-origin")
	entry := &act{action: p.action, operation: r.Pattern}
	err := v.begin(p)
	switch {
	case p.action == "":
	case err != nil:
		v.roomInLog = s.strangers.allow()
	default:
		if v.failure = s.beginAct(r.Context(), entry); v.failure != nil {
			err = unrecorded()
		}
	}
	if err == nil {
		err = p.act(v)
	}
	if err != nil {
		v.fail(err)
	}
	if p.action != "" {
		s.endAct(r.Context(), entry, a.status)
	}
}

// begin finds out who it is, and refuses what no page of ours has sent.
func (v *visit) begin(p page) error {
	v.seed = v.cookie(formCookie)
	if len(v.seed) != len(newSeed()) {
		v.seed = newSeed()
		v.keep(formCookie, v.seed, 0)
	}
	var err error
	if session := v.cookie(sessionCookie); session != "" {
		v.identity, v.caller, err = v.server.whoIs(v.r.Context(), session)
		if err != nil && !errors.Is(err, access.ErrUnauthenticated) {
			return err
		}
		if v.identity.Credential.Kind != access.Session { // tokens are for programs
			v.identity, v.caller = access.Identity{}, Caller{}
		}
	}
	if p.action != "" {
		if _, err := v.server.Audit.Head(v.r.Context()); err != nil {
			v.failure = err
			return newProblem(http.StatusServiceUnavailable, rest.CodeUnavailable, "The action log cannot be written, so nothing is changed. Tell an administrator.")
		}
	}
	if v.r.Method != http.MethodPost {
		return nil
	}
	return v.checkForm()
}

// somebody says whether the browser is signed in.
func (v *visit) somebody() bool { return v.identity.Kind != "" }

func (v *visit) cookie(name string) string {
	c, err := v.r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// keep gives the browser a cookie that lasts so long; zero is until it is closed. Lax, not Strict: who comes from an
// identity provider, or follows a link to a page, comes from elsewhere.
func (v *visit) keep(name, value string, lasts time.Duration) {
	http.SetCookie(v.w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(lasts.Seconds()), Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (v *visit) drop(name string) { v.keep(name, "", -time.Second) }

// look is what templates are given.
type look struct {
	Title, User, RequestID string
	// Forms are the proofs of the page's forms by their address.
	Forms map[string]string
	// Data is the page's own.
	Data any
}

// show answers with a page.
func (v *visit) show(status int, name, title string, data any) error {
	l := look{Title: title, User: v.identity.Name, RequestID: v.id, Forms: map[string]string{}, Data: data}
	for _, path := range []string{signInPath, signOutPath, devicePath, authorizePath} {
		l.Forms[path] = v.proof(path)
	}
	var text bytes.Buffer
	if err := v.server.templates.ExecuteTemplate(&text, name, l); err != nil {
		return fmt.Errorf("make the page %s: %w", name, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(text.Bytes())
	return nil
}

// send answers with another address. What was posted is not sent there.
func (v *visit) send(address string) error {
	v.w.Header().Set("Location", address)
	v.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// fail shows what went wrong.
func (v *visit) fail(err error) {
	if v.failure == nil {
		v.failure = err
	}
	p := explained(err)
	if failed := v.show(p.Status, "failed.html", p.Title, p); failed != nil {
		v.failure = errors.Join(err, failed)
		writeProblem(v.w, v.r, p)
	}
}

// nextPage is the page of ours to which somebody goes after signing in; empty when nobody says. Others are refused.
func nextPage(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || len(text) > 1000 || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" ||
		!slices.Contains([]string{devicePath, authorizePath}, u.Path) || u.EscapedPath() != u.Path {
		return "", invalidPage("next", "it is no page to go to after signing in")
	}
	return (&url.URL{Path: u.Path, RawQuery: u.Query().Encode()}).String(), nil
}

func invalidPage(field, problem string) error {
	return newProblem(http.StatusBadRequest, rest.CodeInvalid, "The request is not valid.", rest.FieldError{Pointer: "?" + field, Detail: problem})
}

// noSession is the answer to a form of somebody whose session is over.
func noSession() error {
	return newProblem(http.StatusUnauthorized, rest.CodeUnauthenticated, "You are not signed in any more. Sign in and begin anew.")
}
