package access

import (
	"testing"
	"time"
)

// minting is a user with tokens that mint, and accounts of programs.
type minting struct {
	alice         Identity
	session       Issued
	whole, narrow Issued
	ends          time.Time
}

func newMinting(t *testing.T, s *Service, c *clock) minting {
	t.Helper()
	addUser(t, s, NewUser{Name: "alice"})
	for name, role := range map[string]string{"ci": "developer", "chief": "owner"} {
		must[ServiceAccountInfo](t)(s.ServiceAccounts.Create(t.Context(), name, "", Scope{"payments", role}))
	}
	m := minting{ends: c.Now().Add(time.Hour)}
	m.alice, m.session = enter(t, s, "alice")
	token := func(scope *Scope) Issued {
		return must[Issued](t)(s.Credentials.CreateToken(t.Context(), m.alice, NewToken{Name: "robot", Expires: m.ends, Scope: scope, Mint: true}))
	}
	m.whole, m.narrow = token(nil), token(&Scope{"payments", "operator"})
	return m
}

// TestMint: a token that mints makes others after its user's session is fresh no more, none of which outlives it, reaches
// further, or mints.
func TestMint(t *testing.T) {
	s, c := open(t)
	m := newMinting(t, s, c)
	who := func(issued Issued) Identity {
		return must[Identity](t)(s.Credentials.Authenticate(t.Context(), issued.Token.Reveal()))
	}
	plain := must[Issued](t)(s.Credentials.CreateToken(t.Context(), m.alice, NewToken{Name: "plain", Expires: m.ends}))
	if !who(m.whole).Credential.Mint || who(m.whole).Fresh || who(plain).Credential.Mint || m.whole.MintedBy != "" {
		t.Errorf("got %+v and %+v", who(m.whole), who(plain))
	}
	c.pass(FreshFor)
	_, err := s.Credentials.CreateToken(t.Context(), m.alice, NewToken{Name: "x", Expires: m.ends, Mint: true})
	wantError(t, "a session that is not fresh", err, ErrNeedsFresh)
	to := func(organization, role string) *Scope { return &Scope{organization, role} }
	for name, tc := range map[string]struct {
		by     Issued
		wanted NewToken
		field  string
		err    error
	}{
		"Whole":     {m.whole, NewToken{Expires: m.ends}, "", nil},
		"Narrowed":  {m.whole, NewToken{Expires: m.ends, Scope: to("search", "owner")}, "", nil},
		"Outlives":  {m.whole, NewToken{Expires: m.ends.Add(time.Microsecond)}, "expiresAt", nil},
		"Mints":     {m.whole, NewToken{Expires: m.ends, Mint: true}, "", ErrNeedsSession},
		"Plain":     {plain, NewToken{Expires: m.ends}, "", ErrNeedsMint},
		"Same":      {m.narrow, NewToken{Expires: m.ends, Scope: to("payments", "operator")}, "", nil},
		"Less":      {m.narrow, NewToken{Expires: m.ends, Scope: to("payments", "viewer")}, "", nil},
		"More":      {m.narrow, NewToken{Expires: m.ends, Scope: to("payments", "owner")}, "scope", nil},
		"All":       {m.narrow, NewToken{Expires: m.ends}, "scope", nil},
		"Elsewhere": {m.narrow, NewToken{Expires: m.ends, Scope: to("search", "viewer")}, "scope", nil},
	} {
		tc.wanted.Name = name
		// That a caller says who makes it counts for nothing here.
		tc.wanted.By = m.whole.ID
		made, err := s.Credentials.CreateToken(t.Context(), who(tc.by), tc.wanted)
		if tc.field != "" {
			wantInvalid(t, err, tc.field, "that makes it; want ")
			continue
		}
		wantError(t, name, err, tc.err)
		if err == nil && made.MintedBy != tc.by.ID {
			t.Errorf("%s: it was made by %q, want %q", name, made.MintedBy, tc.by.ID)
		}
	}
	another := who(m.whole)
	another.Name = "bob"
	_, err = s.Credentials.CreateToken(t.Context(), another, NewToken{Name: "x", Expires: m.ends})
	wantError(t, "another's", err, ErrUnauthenticated)
}

// TestMintForPrograms: the same of tokens of service accounts, made by users' tokens and by their own.
func TestMintForPrograms(t *testing.T) {
	s, c := open(t)
	m := newMinting(t, s, c)
	make := func(account, by string, mint bool) (Issued, error) {
		return s.ServiceAccounts.CreateToken(t.Context(), "payments", account, NewToken{Name: "t", Expires: m.ends, By: by, Mint: mint})
	}
	chief := must[Issued](t)(make("chief", "", true))
	ci := must[Issued](t)(make("ci", "", true))
	if id := must[Identity](t)(s.Credentials.Authenticate(t.Context(), chief.Token.Reveal())); !id.Credential.Mint {
		t.Errorf("got %+v", id)
	}
	for name, tc := range map[string]struct {
		account, by string
		mint        bool
		field       string
		err         error
	}{
		"ByUser":    {"chief", m.whole.ID, false, "", nil},
		"ByNarrow":  {"ci", m.narrow.ID, false, "", nil},
		"Higher":    {"chief", m.narrow.ID, false, "scope", nil},
		"ByProgram": {"ci", chief.ID, false, "", nil},
		"Raised":    {"chief", ci.ID, false, "scope", nil},
		"Mints":     {"ci", chief.ID, true, "", ErrNeedsSession},
		"BySession": {"ci", m.session.ID, false, "", ErrNeedsMint},
		"ByNone":    {"ci", "none", false, "", ErrUnauthenticated},
	} {
		_, err := make(tc.account, tc.by, tc.mint)
		if tc.field != "" {
			wantInvalid(t, err, tc.field, "that makes it; want ")
			continue
		}
		wantError(t, name, err, tc.err)
	}
}

// TestMintedEnds: what was minted ends with the token that made it, however that ends.
func TestMintedEnds(t *testing.T) {
	for name, end := range map[string]func(s *Service, c *clock, m minting) error{
		"Revoked": func(s *Service, _ *clock, m minting) error {
			return s.Credentials.Revoke(t.Context(), "alice", m.whole.ID)
		},
		"RevokedAll":   func(s *Service, _ *clock, _ minting) error { return s.Credentials.RevokeAll(t.Context(), "alice") },
		"UserDisabled": func(s *Service, _ *clock, _ minting) error { return s.Users.Disable(t.Context(), "alice") },
		"UserDeleted":  func(s *Service, _ *clock, _ minting) error { return s.Users.Delete(t.Context(), "alice") },
		"Expired": func(s *Service, c *clock, _ minting) error {
			c.pass(time.Hour)
			return s.Sweep(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := open(t)
			m := newMinting(t, s, c)
			wanted := NewToken{Name: "t", Expires: m.ends}
			by := must[Identity](t)(s.Credentials.Authenticate(t.Context(), m.whole.Token.Reveal()))
			own := must[Issued](t)(s.Credentials.CreateToken(t.Context(), by, wanted))
			wanted.By = m.whole.ID
			program := must[Issued](t)(s.ServiceAccounts.CreateToken(t.Context(), "payments", "ci", wanted))
			wanted.By, wanted.Expires = "", m.ends.Add(time.Hour)
			other := must[Issued](t)(s.ServiceAccounts.CreateToken(t.Context(), "payments", "ci", wanted))
			if err := end(s, c, m); err != nil {
				t.Fatal(err)
			}
			wantDead(t, s, name, m.whole.Token.Reveal(), own.Token.Reveal(), program.Token.Reveal())
			if _, err := s.Credentials.Authenticate(t.Context(), other.Token.Reveal()); err != nil {
				t.Errorf("what a user made has ended, too: %v", err)
			}
		})
	}
}
