package oidc_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"kqueen.io/kqueen/internal/tenancy/access/oidc"
	"kqueen.io/kqueen/internal/tenancy/access/oidc/oidctest"
)

var secrets = oidc.Secrets{
	State: "marker-state", Nonce: "marker-nonce", Verifier: "marker-verifier-that-is-long-enough-for-the-rule",
}

// attempt is one sign-in, of which a test changes what it is about.
type attempt struct {
	t        *testing.T
	now      time.Time
	issuer   *oidctest.Issuer
	provider oidc.Provider
	client   *oidc.Client
	secrets  oidc.Secrets // at the end
	callback oidc.Callback
}

func newAttempt(t *testing.T) *attempt {
	t.Helper()
	a := &attempt{t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), secrets: secrets}
	now := func() time.Time { return a.now }
	a.issuer = oidctest.New(t, now)
	a.issuer.Claims = map[string]any{
		"email": "alice@example.com", "email_verified": true, "name": "Alice", "groups": []string{"payments-devs", "admins"},
	}
	a.provider = oidc.Provider{
		Name: "corp", Issuer: a.issuer.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, CA: a.issuer.CA,
		UsernameClaim: "email", GroupsClaim: "groups", AdminGroups: []string{"admins"},
		RedirectURL: "https://kqueen.example.com/callback",
	}
	a.client = oidc.NewClient(now, time.Minute)
	return a
}

// finish goes all the way; change, when it is not nil, is called before the browser comes back.
func (a *attempt) finish(change func(a *attempt)) (oidc.User, error) {
	a.t.Helper()
	address, err := a.client.Begin(a.t.Context(), a.provider, secrets, 0)
	if err != nil {
		return oidc.User{}, err
	}
	query := a.issuer.Browse(a.t, address)
	a.callback = oidc.Callback{State: query.Get("state"), Code: query.Get("code")}
	if change != nil {
		change(a)
	}
	return a.client.Finish(a.t.Context(), a.provider, a.callback, a.secrets)
}

func TestSignIn(t *testing.T) {
	a := newAttempt(t)
	got, err := a.finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := oidc.User{
		Issuer: a.issuer.URL, Subject: "1234", Name: "corp:alice@example.com", Groups: []string{"corp:admins", "corp:payments-devs"},
		DisplayName: "Alice", Email: "alice@example.com", Admin: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestClaims(t *testing.T) {
	tests := map[string]struct {
		provider func(p *oidc.Provider)
		claims   map[string]any
		want     func(u *oidc.User)
	}{
		"Subject":         {func(p *oidc.Provider) { p.UsernameClaim = "" }, nil, func(u *oidc.User) { u.Name = "corp:1234" }},
		"NoGroupsWanted":  {func(p *oidc.Provider) { p.GroupsClaim, p.AdminGroups = "", nil }, nil, func(u *oidc.User) { u.Groups, u.Admin = nil, false }},
		"OneGroup":        {nil, map[string]any{"groups": "admins"}, func(u *oidc.User) { u.Groups = []string{"corp:admins"} }},
		"NoGroup":         {nil, map[string]any{"groups": []string{}}, func(u *oidc.User) { u.Groups, u.Admin = nil, false }},
		"Twice":           {nil, map[string]any{"groups": []string{"a", "b", "a"}}, func(u *oidc.User) { u.Groups, u.Admin = []string{"corp:a", "corp:b"}, false }},
		"PrefixIsNoAdmin": {nil, map[string]any{"groups": []string{"corp:admins"}}, func(u *oidc.User) { u.Groups, u.Admin = []string{"corp:corp:admins"}, false }},
		"VerifiedText":    {nil, map[string]any{"email_verified": "true"}, func(*oidc.User) {}},
		"UnverifiedEmail": {
			func(p *oidc.Provider) { p.UsernameClaim = "sub" }, map[string]any{"email_verified": false},
			func(u *oidc.User) { u.Name, u.Email = "corp:1234", "" },
		},
		"OddName":    {nil, map[string]any{"name": "Al\u202eice"}, func(u *oidc.User) { u.DisplayName = "" }},
		"LongName":   {nil, map[string]any{"name": strings.Repeat("ů", 200)}, func(u *oidc.User) { u.DisplayName = strings.Repeat("ů", 128) }},
		"Audiences":  {nil, map[string]any{"aud": []string{"other", oidctest.ClientID}, "azp": oidctest.ClientID}, func(*oidc.User) {}},
		"NoAtHash":   {nil, map[string]any{"at_hash": nil}, func(*oidc.User) {}},
		"SystemName": {func(p *oidc.Provider) { p.UsernameClaim = "upn" }, map[string]any{"upn": "system:masters"}, func(u *oidc.User) { u.Name = "corp:system:masters" }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t)
			want := oidc.User{
				Issuer: a.issuer.URL, Subject: "1234", Name: "corp:alice@example.com", Groups: []string{"corp:admins", "corp:payments-devs"},
				DisplayName: "Alice", Email: "alice@example.com", Admin: true,
			}
			if tc.provider != nil {
				tc.provider(&a.provider)
			}
			maps.Copy(a.issuer.Claims, tc.claims)
			tc.want(&want)
			got, err := a.finish(nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRotation: a new key is found as soon as a token names it, and discovery is asked for once an hour.
func TestRotation(t *testing.T) {
	a := newAttempt(t)
	for range 3 {
		if _, err := a.finish(nil); err != nil {
			t.Fatal(err)
		}
	}
	if n, m := a.issuer.Calls(discovery), a.issuer.Calls("/keys"); n != 1 || m != 1 {
		t.Errorf("asked %d times for discovery and %d times for keys", n, m)
	}
	old := a.issuer.Key()
	a.issuer.Rotate(t)
	if _, err := a.finish(nil); err != nil {
		t.Errorf("after a rotation: %v", err)
	}
	// The library answers with keys that it fetched an instant before it keeps them: until then the old ones are still good.
	var err error
	if wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		_, err = a.finish(sign(func(a *attempt, p []byte) string { return oidctest.Compact(a.t, jose.ES256, old.Key, old.KeyID, p) }))
		return err != nil, nil
	}) != nil {
		t.Error("a key that was taken away is still good")
	}
	checkRefused(t, err, "failed to verify")
	a.issuer.Sign = nil
	a.now = a.now.Add(time.Hour)
	if _, err := a.finish(nil); err != nil {
		t.Error(err)
	}
	if n := a.issuer.Calls(discovery); n != 2 {
		t.Errorf("asked %d times for discovery", n)
	}
}

// TestNamesItself: an issuer that says that it names itself must (RFC 9207).
func TestNamesItself(t *testing.T) {
	a := newAttempt(t)
	document("authorization_response_iss_parameter_supported", true)(a)
	_, err := a.finish(nil)
	checkRefused(t, err, `came back from ""`)
	if _, err := a.finish(func(a *attempt) { a.callback.Issuer = a.issuer.URL }); err != nil {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		change func(p *oidc.Provider)
		want   string
	}{
		"Good":      {func(*oidc.Provider) {}, ""},
		"NoName":    {func(p *oidc.Provider) { p.Name = "" }, "name: it is not a name"},
		"Colon":     {func(p *oidc.Provider) { p.Name = "a:b" }, "name: it is not a name"},
		"Reserved":  {func(p *oidc.Provider) { p.Name = "sa" }, `name: "sa" is reserved`},
		"KQueen":    {func(p *oidc.Provider) { p.Name = "kqueen" }, `name: "kqueen" is reserved`},
		"System":    {func(p *oidc.Provider) { p.Name = "system" }, `name: "system" is reserved`},
		"NoClient":  {func(p *oidc.Provider) { p.ClientID = "" }, "clientID: it is empty"},
		"HTTP":      {func(p *oidc.Provider) { p.Issuer = "http://issuer.example.com" }, "issuer: it is no address"},
		"Password":  {func(p *oidc.Provider) { p.Issuer = "https://u:marker@issuer.example.com" }, "issuer: it is no address"},
		"NoURL":     {func(p *oidc.Provider) { p.Issuer = "https://%zz" }, "issuer: it is no address"},
		"Redirect":  {func(p *oidc.Provider) { p.RedirectURL = "" }, "redirectURL: it is no address"},
		"CA":        {func(p *oidc.Provider) { p.CA = "marker" }, "caBundle: there is no certificate in it"},
		"Admins":    {func(p *oidc.Provider) { p.GroupsClaim = "" }, "groupsClaim: it is empty, so that no user is in adminGroups"},
		"AnyAdmins": {func(p *oidc.Provider) { p.AdminGroups = []string{""} }, "adminGroups: one is empty"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := oidc.Provider{
				Name: "corp", Issuer: "https://issuer.example.com", ClientID: "kqueen", GroupsClaim: "groups",
				AdminGroups: []string{"admins"}, RedirectURL: "https://kqueen.example.com/callback",
			}
			tc.change(&p)
			got := fmt.Sprint(p.Validate())
			if tc.want == "" {
				tc.want = "<nil>"
			}
			if !strings.HasPrefix(got, tc.want) || strings.Contains(got, "marker") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAddress(t *testing.T) {
	a := newAttempt(t)
	a.provider.Scopes = []string{"groups", "openid"}
	address, err := a.client.Begin(t.Context(), a.provider, secrets, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"scope=openid+groups", "code_challenge_method=S256", "nonce=marker-nonce", "state=marker-state"} {
		if !strings.Contains(address, want) {
			t.Errorf("%s lacks %s", address, want)
		}
	}
	for _, secret := range []string{secrets.Verifier, oidctest.ClientSecret} {
		if slices.Contains(strings.FieldsFunc(address, func(r rune) bool { return r == '&' || r == '=' }), secret) {
			t.Errorf("%s tells %s", address, secret)
		}
	}
}
