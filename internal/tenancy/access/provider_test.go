package access

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/tenancy/access/oidc"
	"kqueen.io/kqueen/internal/tenancy/access/oidc/oidctest"
)

// corp is a provider that a service signs users in with.
type corp struct {
	t        *testing.T
	s        *Service
	issuer   *oidctest.Issuer
	provider oidc.Provider
}

func newCorp(t *testing.T, s *Service, c *clock) *corp {
	t.Helper()
	issuer := oidctest.New(t, c.Now)
	issuer.Claims = map[string]any{
		"email": "alice@example.com", "email_verified": true, "name": "Alice", "groups": []string{"payments-devs", "admins"},
	}
	return &corp{t: t, s: s, issuer: issuer, provider: oidc.Provider{
		Name: "corp", Issuer: issuer.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, CA: issuer.CA,
		UsernameClaim: "email", GroupsClaim: "groups", AdminGroups: []string{"admins"},
		RedirectURL: "https://kqueen.example.com/callback",
	}}
}

func (c *corp) find(_ context.Context, name string) (oidc.Provider, error) {
	if name != c.provider.Name {
		return oidc.Provider{}, ErrNotFound
	}
	return c.provider, nil
}

// begin goes to the provider and comes back with what a browser has then.
func (c *corp) begin() (cookie string, callback oidc.Callback) {
	c.t.Helper()
	start := must[ProviderStart](c.t)(c.s.Providers.Begin(c.t.Context(), c.provider, "/clusters", Origin{Client: "Firefox"}))
	query := c.issuer.Browse(c.t, start.URL)
	return start.Cookie.Reveal(), oidc.Callback{State: query.Get("state"), Code: query.Get("code")}
}

func (c *corp) finish(cookie string, callback oidc.Callback) (Issued, error) {
	issued, _, err := c.s.Providers.Finish(c.t.Context(), c.find, cookie, callback)
	return issued, err
}

func (c *corp) signIn() (Issued, error) {
	c.t.Helper()
	return c.finish(c.begin())
}

func TestProvider(t *testing.T) {
	s, clock := open(t)
	c := newCorp(t, s, clock)
	cookie, callback := c.begin()
	issued, next, err := s.Providers.Finish(t.Context(), c.find, cookie, callback)
	if err != nil || next != "/clusters" || issued.Name != "Firefox" {
		t.Fatal(issued, next, err)
	}
	id := must[Identity](t)(s.Credentials.Authenticate(t.Context(), issued.Token.Reveal()))
	if id.Kind != User || id.Name != "corp:alice@example.com" || id.DisplayName != "Alice" || id.Email != "alice@example.com" ||
		!slices.Equal(id.Groups, []string{"corp:admins", "corp:payments-devs"}) || !id.Admin || id.Credential.Kind != Session {
		t.Errorf("got %+v", id)
	}
	user := must[UserInfo](t)(s.Users.Get(t.Context(), id.Name))
	if user.Provider != "corp" || user.HasPassword || user.Admin || !user.GroupsAdmin || !user.SignedIn.Equal(clock.Now()) {
		t.Errorf("got %+v", user)
	}
	wantError(t, "another name", s.Users.Update(t.Context(), id.Name, "Bob", ""), ErrProviderUser)
	_, err = s.Passwords.Reset(t.Context(), id.Name)
	wantError(t, "a reset", err, ErrProviderUser)
	_, err = s.Passwords.SignIn(t.Context(), id.Name, "", home)
	wantError(t, "by password", err, ErrUnauthenticated)

	// Fewer groups at the next sign-in are fewer at once, for what was made before too.
	token := must[Issued](t)(s.Credentials.CreateToken(t.Context(), id, NewToken{Name: "ci", Expires: clock.Now().Add(300 * day), Mint: true}))
	must[ServiceAccountInfo](t)(s.ServiceAccounts.Create(t.Context(), "ci", "", Scope{"payments", "developer"}))
	minted := must[Issued](t)(s.ServiceAccounts.CreateToken(t.Context(), "payments", "ci", NewToken{Name: "ci", Expires: clock.Now().Add(200 * day), By: token.ID}))
	c.issuer.Claims["groups"] = []string{}
	must[Issued](t)(c.signIn())
	for _, text := range []string{issued.Token.Reveal(), token.Token.Reveal()} {
		if id := must[Identity](t)(s.Credentials.Authenticate(t.Context(), text)); id.Admin || len(id.Groups) != 0 {
			t.Errorf("kept %+v", id)
		}
	}
	// The provider's word is believed for 30 days.
	clock.pass(30*day - time.Second)
	must[Identity](t)(s.Credentials.Authenticate(t.Context(), token.Token.Reveal()))
	must[Identity](t)(s.Credentials.Authenticate(t.Context(), minted.Token.Reveal()))
	clock.pass(time.Second)
	wantDead(t, s, "after 30 days without a word", token.Token.Reveal(), minted.Token.Reveal())
	must[Issued](t)(c.signIn())
	must[Identity](t)(s.Credentials.Authenticate(t.Context(), token.Token.Reveal()))
	must[Identity](t)(s.Credentials.Authenticate(t.Context(), minted.Token.Reveal()))
}

func wantRefused(t *testing.T, what string, err error, want string) {
	t.Helper()
	var refused *oidc.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, want) || strings.Contains(err.Error(), "kq1_") {
		t.Errorf("%s: got %v; want %q", what, err, want)
	}
}

// TestProviderAttempts: what begins in one browser is finished there, in time, and once.
func TestProviderAttempts(t *testing.T) {
	s, clock := open(t)
	c := newCorp(t, s, clock)
	const want = "this sign-in was not started in this browser"
	cookie, callback := c.begin()
	otherCookie, other := c.begin()
	for what, cookie := range map[string]string{"no cookie": "", "another cookie": otherCookie, "no token": "x", "the state": callback.State} {
		_, err := c.finish(cookie, callback)
		wantRefused(t, what, err, want)
	}
	for _, state := range []string{"", "x", cookie} {
		_, err := c.finish(cookie, oidc.Callback{State: state, Code: callback.Code})
		wantRefused(t, "the state "+state[:min(4, len(state))], err, want)
	}
	// The code of another attempt: its verifier is another one.
	_, err := c.finish(cookie, oidc.Callback{State: callback.State, Code: other.Code})
	wantRefused(t, "another code", err, `"invalid_grant"`)
	_, err = c.finish(cookie, callback)
	wantRefused(t, "after a failure", err, want)

	cookie, callback = c.begin()
	must[Issued](t)(c.finish(cookie, callback))
	_, err = c.finish(cookie, callback)
	wantRefused(t, "again", err, want)

	cookie, callback = c.begin()
	clock.pass(attemptLife)
	_, err = c.finish(cookie, callback)
	wantRefused(t, "late", err, want)

	cookie, callback = c.begin()
	c.provider.Issuer = "https://other.example.com"
	_, err = c.finish(cookie, callback)
	wantRefused(t, "the provider is another one", err, "it was changed in the meantime")
	c.provider.Name = "gone"
	cookie, callback = c.beginAs("corp")
	_, err = c.finish(cookie, callback)
	wantError(t, "the provider is gone", err, ErrNotFound)
}

// beginAs begins with the provider under its first name and issuer.
func (c *corp) beginAs(name string) (string, oidc.Callback) {
	c.t.Helper()
	now := c.provider
	c.provider.Name, c.provider.Issuer = name, c.issuer.URL
	defer func() { c.provider = now }()
	return c.begin()
}

func TestProviderOnce(t *testing.T) {
	s, clock := open(t)
	c := newCorp(t, s, clock)
	cookie, callback := c.begin()
	wantOne(t, ErrSpent, func(int) error {
		_, err := c.finish(cookie, callback)
		if refused := new(oidc.RefusedError); errors.As(err, &refused) {
			return ErrSpent
		}
		return err
	})
	if n := c.issuer.Calls("/token"); n != 1 {
		t.Errorf("the code was shown %d times", n)
	}
}

// TestProviderUsers: a user is a subject. Names that move do not move rights.
func TestProviderUsers(t *testing.T) {
	s, clock := open(t)
	addUser(t, s, NewUser{Name: "root", Admin: true})
	c := newCorp(t, s, clock)
	first := must[Issued](t)(c.signIn())
	c.issuer.Claims["sub"] = "5678"
	_, err := c.signIn()
	wantRefused(t, "the address of another user", err, "belongs to another subject")
	c.issuer.Claims["email"] = "bob@example.com"
	must[Issued](t)(c.signIn())
	c.issuer.Claims["sub"] = "1234"
	c.issuer.Claims["email"] = "alice@new.example.com"
	_, err = c.signIn()
	wantRefused(t, "a new address", err, "is known as corp:alice@example.com")
	if err := s.Users.Disable(t.Context(), "corp:alice@example.com"); err != nil {
		t.Fatal(err)
	}
	wantDead(t, s, "disabled", first.Token.Reveal())
	_, err = c.signIn()
	wantRefused(t, "disabled, under a new address", err, "is known as corp:alice@example.com")
	c.issuer.Claims["email"] = "alice@example.com"
	_, err = c.signIn()
	wantRefused(t, "disabled", err, "is disabled")
	if err := s.Users.Enable(t.Context(), "corp:alice@example.com"); err != nil {
		t.Fatal(err)
	}
	must[Issued](t)(c.signIn())
	wantDead(t, s, "enabled", first.Token.Reveal())
	users := must[List[UserInfo]](t)(s.Users.List(t.Context(), Page{}))
	if len(users.Items) != 3 {
		t.Errorf("got %+v", users.Items)
	}
}

func TestBeginProviderRefused(t *testing.T) {
	s, clock := open(t)
	c := newCorp(t, s, clock)
	for _, next := range []string{"https://evil.example.com/", "//evil.example.com", `/\evil.example.com`, "/a\nb", "clusters", "/" + strings.Repeat("a", 1000)} {
		_, err := s.Providers.Begin(t.Context(), c.provider, next, home)
		wantInvalid(t, err, "next", "not a path on this server")
	}
	for range maxPendingPerSource {
		must[ProviderStart](t)(s.Providers.Begin(t.Context(), c.provider, "", home))
	}
	_, err := s.Providers.Begin(t.Context(), c.provider, "", home)
	wantError(t, "too many", err, ErrTooMany)
	must[ProviderStart](t)(s.Providers.Begin(t.Context(), c.provider, "", Origin{Address: netip.MustParseAddr("192.0.2.99")}))
	clock.pass(attemptLife)
	start := must[ProviderStart](t)(s.Providers.Begin(t.Context(), c.provider, "", home))
	u, err := url.Parse(start.URL)
	if err != nil {
		t.Fatal(err)
	}
	// A reader of the database cannot finish for a user.
	all := dump(t, s)
	for _, secret := range []string{start.Cookie.Reveal()[20:60], u.Query().Get("state")[20:60], u.Query().Get("nonce"), u.Query().Get("code_challenge")} {
		if secret == "" || strings.Contains(all, secret) {
			t.Errorf("%q is in the database", secret)
		}
	}
	if strings.Contains(start.URL, secretsOf(u.Query().Get("state"), start.Cookie.Reveal()).Verifier) {
		t.Error("the browser is told the verifier")
	}
}
