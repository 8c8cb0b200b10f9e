package pages

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/access/oidc"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
)

const (
	// SignInPath is the page on which users sign in.
	SignInPath  = "/signin"
	signOutPath = "/signout"
)

// signInPage is what the page shows.
type signInPage struct {
	Next, Name, Message string
	Providers           []providerLink
}

type providerLink struct{ Label, Address string }

// showSignIn shows the ways to sign in, or sends a user who has just signed in to where they wanted to go.
func (s *Pages) showSignIn(v *visit) error {
	next, err := nextPage(v.r.URL.Query().Get("next"))
	switch {
	case err != nil:
		return err
	case v.mayApprove() && next != "":
		return v.send(next)
	case v.Known() && next != "":
		return v.offer(http.StatusOK, signInPage{Next: next, Message: "You signed in some time ago. Sign in again to go on."})
	case v.Known():
		return v.show(http.StatusOK, "signedin.html", "Signed in", nil)
	}
	return v.offer(http.StatusOK, signInPage{Next: next})
}

// offer shows the ways to sign in.
func (v *visit) offer(status int, p signInPage) error {
	all, err := v.pages.Providers.List(v.r.Context())
	if err != nil {
		return err
	}
	for i := range all {
		p.Providers = append(p.Providers, providerLink{
			Label: cmp.Or(all[i].Spec.DisplayName, all[i].Name), Address: providerPage(all[i].Name, p.Next),
		})
	}
	return v.show(status, "signin.html", "Sign in", p)
}

// providerPage is where signing in with a provider begins.
func providerPage(name, next string) string {
	address := url.URL{Path: SignInPath + "/" + name}
	if next != "" {
		address.RawQuery = url.Values{"next": {next}}.Encode()
	}
	return address.String()
}

// takePassword signs in a local user.
func (s *Pages) takePassword(v *visit) error {
	name := v.r.PostForm.Get("name")
	next, err := nextPage(v.r.PostForm.Get("next"))
	if err != nil {
		return err
	}
	issued, err := s.Flows.SignIn(v.r.Context(), v.Request, name, v.r.PostForm.Get("password"))
	var locked *access.LockedError
	switch {
	case errors.Is(err, access.ErrUnauthenticated):
		return v.offer(http.StatusUnauthorized, signInPage{Next: next, Name: name, Message: "The name or the password is not right."})
	case errors.As(err, &locked):
		seconds := max(int(time.Until(locked.Until).Seconds())+1, 1)
		v.w.Header().Set("Retry-After", strconv.Itoa(seconds))
		return v.offer(http.StatusTooManyRequests, signInPage{
			Next: next, Name: name, Message: "Too many attempts failed. Try again in " + strconv.Itoa(seconds) + " seconds.",
		})
	case err != nil:
		return problem.ExplainAccess(err)
	}
	return v.enter(issued, "password", next)
}

// enter gives the browser its session.
func (v *visit) enter(issued access.Issued, by, next string) error {
	v.SignedIn(issued, by)
	v.keep(chain.SessionCookie, issued.Token.Reveal(), time.Until(issued.Expires))
	return v.send(cmp.Or(next, rest.PortalPath))
}

// leave ends the session of the browser.
func (s *Pages) leave(v *visit) error {
	v.drop(chain.SessionCookie)
	if v.Known() {
		err := s.Sessions.Revoke(v.r.Context(), v.Identity.Name, v.Identity.Credential.ID)
		if err != nil && !errors.Is(err, access.ErrNotFound) {
			return problem.ExplainAccess(err)
		}
	}
	return v.send(SignInPath)
}

// goToProvider sends the browser to an identity provider.
func (s *Pages) goToProvider(v *visit) error {
	next, err := nextPage(v.r.URL.Query().Get("next"))
	if err != nil {
		return err
	}
	provider, err := s.Providers.Get(v.r.Context(), v.r.PathValue("provider"), v.Base())
	if err != nil {
		return v.refused(err)
	}
	v.Object = chain.Object{Kind: "IdentityProvider", Name: provider.Name}
	start, err := s.ProviderSignIns.Begin(v.r.Context(), provider, next, v.From)
	if err != nil {
		return v.refused(err)
	}
	v.Unremarkable = true // it is written down when the browser comes back
	v.keep(AttemptCookie, start.Cookie.Reveal(), time.Until(start.Expires))
	return v.send(start.URL)
}

// comeBack takes the browser back from an identity provider. Each provider has an address of its own for that, so
// that one cannot send what another one has said.
func (s *Pages) comeBack(v *visit) error {
	name, query := v.r.PathValue("provider"), v.r.URL.Query()
	cookie := v.cookie(AttemptCookie)
	v.drop(AttemptCookie)
	find := func(ctx context.Context, begun string) (oidc.Provider, error) {
		v.Object = chain.Object{Kind: "IdentityProvider", Name: begun}
		if begun != name {
			return oidc.Provider{}, &oidc.RefusedError{Provider: begun, Reason: "the browser came back to the address of another provider"}
		}
		return s.Providers.Get(ctx, begun, v.Base())
	}
	issued, next, err := s.ProviderSignIns.Finish(v.r.Context(), find, cookie, oidc.Callback{
		State: query.Get("state"), Code: query.Get("code"), Issuer: query.Get("iss"),
		Error: query.Get("error"), ErrorDescription: query.Get("error_description"),
	})
	if err != nil {
		return v.refused(err)
	}
	if next, err = nextPage(next); err != nil {
		return err
	}
	return v.enter(issued, name, next)
}

// refused tells the user that it did not work, and the audit log why.
func (v *visit) refused(err error) error {
	if errors.Is(err, identityprovider.ErrNotFound) {
		return problem.NotFound()
	}
	refused, ok := errors.AsType[*oidc.RefusedError](err)
	if !ok {
		return problem.ExplainAccess(err)
	}
	v.Detail = map[string]string{"why": refused.Reason}
	return problem.New(http.StatusUnauthorized, rest.CodeUnauthenticated,
		"Signing in with "+refused.Provider+" did not work. Start again; if it fails again, an administrator finds the cause in the audit log.")
}
