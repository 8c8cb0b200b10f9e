package pages

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/accounts"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// Cookies of the pages, beside that of the session.
const (
	// AttemptCookie is held by the browser that went to an identity provider.
	AttemptCookie = "__Host-kqueen-attempt"
	// FormCookie binds forms to the browser that was given them, also before its user signs in.
	FormCookie = "__Host-kqueen-form"
)

// pagePolicy lets a page load its style sheet from here and send its forms here; %s is for one more place.
const pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'%s; frame-ancestors 'none'; base-uri 'none'"

// maxForm is how much of a form is read, in bytes.
const maxForm = 64 << 10

// visit is one request for a page.
type visit struct {
	*chain.Request

	pages *Pages
	w     http.ResponseWriter
	r     *http.Request
	// seed is what forms are bound to.
	seed string
}

// page is what becomes of a visit. What it returns as an error is shown.
type page struct {
	// action is its name in the audit log; pages without are not in it.
	action string
	act    func(v *visit) error
}

// begin finds out who it is, and refuses what no page of ours has sent.
func (v *visit) begin() error {
	v.seed = v.cookie(FormCookie)
	if len(v.seed) != len(newSeed()) {
		v.seed = newSeed()
		v.keep(FormCookie, v.seed, 0)
	}
	if session := v.cookie(chain.SessionCookie); session != "" { // tokens are for programs
		err := v.pages.Identities.Authenticate(v.r.Context(), v.Request, session, access.Session)
		if err != nil && !errors.Is(err, access.ErrUnauthenticated) {
			return err
		}
	}
	if v.r.Method != http.MethodPost {
		return nil
	}
	return v.checkForm()
}

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
	l := look{Title: title, User: v.Identity.Name, RequestID: v.ID, Forms: map[string]string{}, Data: data}
	for _, path := range []string{SignInPath, signOutPath, accounts.DevicePath, authorizePath, setupPath, choosePath} {
		l.Forms[path] = v.proof(path)
	}
	var text bytes.Buffer
	if err := v.pages.templates.ExecuteTemplate(&text, name, l); err != nil {
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
	if v.Failure == nil {
		v.Failure = err
	}
	p := problem.Of(err)
	if failed := v.show(p.Status, "failed.html", p.Title, p); failed != nil {
		v.Failure = errors.Join(err, failed)
		chain.WriteProblem(v.w, v.r, p)
	}
}

// nextPage is the page of ours to which a user goes after signing in; empty when none is named. Others are refused.
func nextPage(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || len(text) > 1000 || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" ||
		!leadsOn(u.Path) || u.EscapedPath() != u.Path {
		return "", invalidPage("next", "it is no page to go to after signing in")
	}
	return (&url.URL{Path: u.Path, RawQuery: u.Query().Encode()}).String(), nil
}

// leadsOn says whether a path is of a page to which signing in leads.
func leadsOn(to string) bool {
	if inPortal, ok := strings.CutPrefix(to, rest.PortalPath); ok {
		return inPortal == "" || path.Clean(to) == to
	}
	return slices.Contains([]string{accounts.DevicePath, authorizePath}, to)
}

func invalidPage(field, wrong string) error {
	return problem.New(http.StatusBadRequest, rest.CodeInvalid, "The request is not valid.", rest.FieldError{Pointer: "?" + field, Detail: wrong})
}

// noSession is the answer to a form of a user whose session has ended.
func noSession() error {
	return problem.New(http.StatusUnauthorized, rest.CodeUnauthenticated, "You are not signed in any more. Sign in and start again.")
}
