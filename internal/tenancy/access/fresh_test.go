package access

import (
	"errors"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/tenancy/access/oidc"
)

// TestFresh: a session is fresh for a while after its user signed in, and what was made from it is no younger.
func TestFresh(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	_, first := enter(t, s, "alice")
	who := func(issued Issued) Identity {
		return must[Identity](t)(s.Credentials.Authenticate(t.Context(), issued.Token.Reveal()))
	}
	whole := must[Issued](t)(s.Credentials.CreateToken(t.Context(), who(first), NewToken{Name: "ci", Expires: c.Now().Add(day)}))
	c.pass(FreshFor - time.Second)
	device := must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
	if err := s.Devices.Answer(t.Context(), who(first), device.UserCode, true, home); err != nil {
		t.Fatal(err)
	}
	code := must[OneTime](t)(s.Codes.Create(t.Context(), who(first), codeRequest))
	sessions := map[string]Issued{
		"signed in": first,
		"device":    must[Issued](t)(s.Devices.Poll(t.Context(), device.DeviceCode.Reveal())),
		"code":      must[Issued](t)(s.Codes.Exchange(t.Context(), code.Token.Reveal(), codeVerifier, codeRequest.RedirectURI)),
	}
	for name, issued := range sessions {
		if !who(issued).Fresh {
			t.Errorf("%s: it is not fresh", name)
		}
	}
	if who(whole).Fresh {
		t.Error("a token is fresh")
	}
	c.pass(time.Second)
	for name, issued := range sessions {
		by := who(issued)
		if by.Fresh {
			t.Errorf("%s: it is fresh for too long", name)
		}
		_, err := s.Credentials.CreateToken(t.Context(), by, NewToken{Name: "x", Expires: c.Now().Add(day)})
		wantError(t, name+": token", err, ErrNeedsFresh)
		_, err = s.Codes.Create(t.Context(), by, codeRequest)
		wantError(t, name+": code", err, ErrNeedsFresh)
		start := must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
		wantError(t, name+": approve", s.Devices.Answer(t.Context(), by, start.UserCode, true, home), ErrNeedsFresh)
		wantError(t, name+": deny", s.Devices.Answer(t.Context(), by, start.UserCode, false, home), nil)
	}
	if _, again := enter(t, s, "alice"); !who(again).Fresh {
		t.Error("after signing in again it is not fresh")
	}
}

func TestGetCredential(t *testing.T) {
	s, c := open(t)
	for _, name := range []string{"alice", "bob"} {
		addUser(t, s, NewUser{Name: name})
	}
	_, session := enter(t, s, "alice")
	if got := must[CredentialInfo](t)(s.Credentials.Get(t.Context(), "alice", session.ID)); got.ID != session.ID || got.Account != "alice" {
		t.Errorf("got %+v", got)
	}
	for _, at := range [][2]string{{"bob", session.ID}, {"alice", "none"}} {
		_, err := s.Credentials.Get(t.Context(), at[0], at[1])
		wantError(t, at[0], err, ErrNotFound)
	}
	c.pass(day)
	_, err := s.Credentials.Get(t.Context(), "alice", session.ID)
	wantError(t, "expired", err, ErrNotFound)
}

// TestFreshByProvider: what counts is when the provider asked who the user is, not when it let a browser pass that it knew.
func TestFreshByProvider(t *testing.T) {
	s, clock := open(t)
	c := newCorp(t, s, clock)
	ago := func(d time.Duration) int64 { return clock.Now().Add(-d).Unix() }
	tests := map[string]struct {
		next     string
		authTime any // nil: the provider does not say
		fresh    bool
		refused  string
	}{
		"it asked just now":              {"/clusters", ago(time.Second), true, ""},
		"it asked some time ago":         {"", ago(FreshFor), false, ""},
		"it asks no more, and was to":    {"/clusters", ago(FreshFor), false, "max_age"},
		"it does not say":                {"/clusters", nil, true, ""},
		"it says when its clock is fast": {"/clusters", ago(-time.Minute), true, ""},
		"it says what is not yet":        {"/clusters", ago(-time.Hour), false, "are the clocks right?"},
		"it says no time":                {"/clusters", "yesterday", false, "not a time in seconds"},
	}
	for name, tc := range tests {
		c.issuer.Claims["auth_time"] = tc.authTime
		start := must[ProviderStart](t)(s.Providers.Begin(t.Context(), c.provider, tc.next, Origin{Client: "Firefox"}))
		if asked := strings.Contains(start.URL, "max_age=300"); asked != (tc.next != "") {
			t.Errorf("%s: the browser is sent to %s", name, start.URL)
		}
		query := c.issuer.Browse(t, start.URL)
		issued, err := c.finish(start.Cookie.Reveal(), oidc.Callback{State: query.Get("state"), Code: query.Get("code")})
		if tc.refused != "" {
			if _, ok := errors.AsType[*oidc.RefusedError](err); !ok || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s: got %v, want it refused with %q", name, err, tc.refused)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if id := must[Identity](t)(s.Credentials.Authenticate(t.Context(), issued.Token.Reveal())); id.Fresh != tc.fresh {
			t.Errorf("%s: fresh is %t", name, id.Fresh)
		}
	}
}
