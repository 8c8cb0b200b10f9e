package access

import (
	"strings"
	"testing"
	"time"
)

func TestSessionEnds(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	_, idle := enter(t, s, "alice")
	_, used := enter(t, s, "alice")
	for range 3 {
		c.pass(7*time.Hour + 59*time.Minute)
		if _, err := s.Credentials.Authenticate(t.Context(), used.Token.Reveal()); err != nil {
			t.Fatal(err)
		}
	}
	wantDead(t, s, "not used", idle.Token.Reveal())
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := must[List[CredentialInfo]](t)(s.Credentials.List(t.Context(), "alice", "", Page{})); len(list.Items) != 1 || list.Items[0].ID != used.ID {
		t.Errorf("got %+v", list.Items)
	}
	c.pass(3 * time.Minute)
	wantDead(t, s, "after 24 hours", used.Token.Reveal())
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := dump(t, s); strings.Contains(all, used.ID) {
		t.Error("the sweep left it")
	}
}

// listed returns a session or token of an account as it is listed.
func listed(t *testing.T, s *Service, account, id string) CredentialInfo {
	t.Helper()
	list := must[List[CredentialInfo]](t)(s.Credentials.List(t.Context(), account, "", Page{}))
	for _, c := range list.Items {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("%s has no %s", account, id)
	return CredentialInfo{}
}

// TestLastUsed is written once a minute.
func TestLastUsed(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	_, session := enter(t, s, "alice")
	made := c.Now()
	for _, step := range []struct{ wait, want time.Duration }{{59 * time.Second, 0}, {time.Second, time.Minute}, {time.Second, time.Minute}} {
		c.pass(step.wait)
		must[Identity](t)(s.Credentials.Authenticate(t.Context(), session.Token.Reveal()))
		info := listed(t, s, "alice", session.ID)
		if !info.LastUsed.Equal(made.Add(step.want)) {
			t.Errorf("at %s: last used %s", c.Now(), info.LastUsed)
		}
	}
}

// TestFirstUse of a token is written at once.
func TestFirstUse(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	alice, _ := enter(t, s, "alice")
	made := must[Issued](t)(s.Credentials.CreateToken(t.Context(), alice, NewToken{Name: "ci", Expires: c.Now().Add(day)}))
	for _, want := range []time.Time{{}, c.Now()} {
		if info := listed(t, s, "alice", made.ID); !info.LastUsed.Equal(want) {
			t.Errorf("last used %s, want %s", info.LastUsed, want)
		}
		must[Identity](t)(s.Credentials.Authenticate(t.Context(), made.Token.Reveal()))
	}
}

func TestTokens(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice", Admin: true})
	addUser(t, s, NewUser{Name: "bob"})
	alice, session := enter(t, s, "alice")
	whole := must[Issued](t)(s.Credentials.CreateToken(t.Context(), alice, NewToken{Name: "backup", Expires: c.Now().Add(365 * day)}))
	narrow := must[Issued](t)(s.Credentials.CreateToken(t.Context(), alice, NewToken{
		Name: "ci", Expires: c.Now().Add(day), Scope: &Scope{"payments", "viewer"},
	}))
	id := must[Identity](t)(s.Credentials.Authenticate(t.Context(), whole.Token.Reveal()))
	if id.Name != "alice" || !id.Admin || id.Scope != nil || id.Credential != whole.Credential || id.Credential.Kind != Token {
		t.Errorf("got %+v", id)
	}
	byNarrow := must[Identity](t)(s.Credentials.Authenticate(t.Context(), narrow.Token.Reveal()))
	if byNarrow.Admin || !byNarrow.OwnerAdmin || byNarrow.Scope == nil || *byNarrow.Scope != (Scope{"payments", "viewer"}) {
		t.Errorf("got %+v", byNarrow)
	}
	// Tokens make nothing that has the rights of the account.
	for name, by := range map[string]Identity{"token": id, "narrow": byNarrow, "nobody": {}} {
		_, err := s.Credentials.CreateToken(t.Context(), by, NewToken{Name: "x", Expires: c.Now().Add(day)})
		wantError(t, name+": token", err, map[bool]error{true: ErrNeedsSession, false: ErrNeedsMint}[name == "nobody"])
		_, err = s.Codes.Create(t.Context(), by, codeRequest)
		wantError(t, name+": code", err, ErrNeedsSession)
		device := must[DeviceStart](t)(s.Devices.Start(t.Context(), Origin{}))
		wantError(t, name+": device", s.Devices.Answer(t.Context(), by, device.UserCode, true, Origin{}), ErrNeedsSession)
	}
	stolen := alice
	stolen.Name = "bob"
	_, err := s.Credentials.CreateToken(t.Context(), stolen, NewToken{Name: "x", Expires: c.Now().Add(day)})
	wantError(t, "another's session", err, ErrUnauthenticated)

	list := must[List[CredentialInfo]](t)(s.Credentials.List(t.Context(), "alice", "", Page{Limit: 2}))
	if len(list.Items) != 2 || list.Next == "" {
		t.Errorf("got %+v", list)
	}
	for kind, want := range map[CredentialKind]int{"": 3, Session: 1, Token: 2} {
		list := must[List[CredentialInfo]](t)(s.Credentials.List(t.Context(), "alice", kind, Page{}))
		if len(list.Items) != want {
			t.Errorf("%q: got %+v", kind, list.Items)
		}
	}
	for what, err := range map[string]error{
		"another's": s.Credentials.Revoke(t.Context(), "bob", narrow.ID), "nothing": s.Credentials.Revoke(t.Context(), "alice", "x"),
	} {
		wantError(t, "revoke "+what, err, ErrNotFound)
	}
	if list := must[List[CredentialInfo]](t)(s.Credentials.List(t.Context(), "bob", Token, Page{})); len(list.Items) != 0 {
		t.Errorf("another's are listed: %+v", list.Items)
	}
	if err := s.Credentials.Revoke(t.Context(), "alice", narrow.ID); err != nil {
		t.Fatal(err)
	}
	wantDead(t, s, "revoked", narrow.Token.Reveal())
	must[Identity](t)(s.Credentials.Authenticate(t.Context(), whole.Token.Reveal()))
	if err := s.Users.SetAdmin(t.Context(), "bob", true); err != nil {
		t.Fatal(err)
	}
	if err := s.Users.SetAdmin(t.Context(), "alice", false); err != nil {
		t.Fatal(err)
	}
	if id := must[Identity](t)(s.Credentials.Authenticate(t.Context(), whole.Token.Reveal())); id.Admin {
		t.Error("a token gives more than its owner has")
	}
	if err := s.Credentials.Revoke(t.Context(), "alice", session.ID); err != nil {
		t.Fatal(err)
	}
	_, err = s.Credentials.CreateToken(t.Context(), alice, NewToken{Name: "x", Expires: c.Now().Add(day)})
	wantError(t, "after the session", err, ErrUnauthenticated)
	c.pass(365 * day)
	wantDead(t, s, "after a year", whole.Token.Reveal())
}

func TestTokensRefused(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	alice, _ := enter(t, s, "alice")
	soon := c.Now().Add(day)
	tests := map[string]struct {
		wanted         NewToken
		field, problem string
	}{
		"NoName":  {NewToken{Expires: soon}, "name", "it is empty"},
		"Name":    {NewToken{Name: "a\nb", Expires: soon}, "name", "cannot be printed"},
		"Long":    {NewToken{Name: strings.Repeat("ů", 101), Expires: soon}, "name", "it has 101 characters; want 100 at most"},
		"Never":   {NewToken{Name: "ci"}, "expiresAt", "a time up to 2027-11-21T12:00:00Z"},
		"Over":    {NewToken{Name: "ci", Expires: c.Now()}, "expiresAt", "over"},
		"Far":     {NewToken{Name: "ci", Expires: c.Now().Add(366 * day)}, "expiresAt", "too far away"},
		"Role":    {NewToken{Name: "ci", Expires: soon, Scope: &Scope{"payments", "admin"}}, "role", "want owner, operator, developer or viewer"},
		"NoRole":  {NewToken{Name: "ci", Expires: soon, Scope: &Scope{"payments", ""}}, "role", "not one of those"},
		"NoWhere": {NewToken{Name: "ci", Expires: soon, Scope: &Scope{"", "viewer"}}, "organization", "it is not a name"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := s.Credentials.CreateToken(t.Context(), alice, tc.wanted)
			wantInvalid(t, err, tc.field, tc.problem)
		})
	}
}

// TestAuthenticateRefuses: what is not good gets one answer.
func TestAuthenticateRefuses(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	_, session := enter(t, s, "alice")
	_, other := enter(t, s, "alice")
	elsewhere, _ := open(t)
	addUser(t, elsewhere, NewUser{Name: "alice"})
	_, foreign := enter(t, elsewhere, "alice")
	// The id of a session that is good, with another secret.
	if _, err := s.store.db.ExecContext(t.Context(), `UPDATE access_credentials SET id = $1 WHERE id = $2`, foreign.ID, other.ID); err != nil {
		t.Fatal(err)
	}
	wantDead(t, s, "refused", "    ", "kqu_", foreign.Token.Reveal(), session.Token.Reveal()[:66], "kqt_"+session.Token.Reveal()[4:], "Bearer "+session.Token.Reveal())
	must[Identity](t)(s.Credentials.Authenticate(t.Context(), session.Token.Reveal()))
}

func TestBounds(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	alice, oldest := enter(t, s, "alice")
	tx := must[sqlTx](t)(s.store.db.BeginTx(t.Context(), nil))
	a := must[account](t)(findAccount(t.Context(), tx, User, "alice"))
	for range maxSessions - 1 {
		c.pass(time.Second)
		must[Issued](t)(s.Credentials.issueSession(t.Context(), tx, a, "", c.Now()))
	}
	if _, err := tx.ExecContext(t.Context(), `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO access_credentials (id, kind, hash, account, epoch, name, created, expires, last_used)
		SELECT 'x' || i, 'kqt_', $2, 'alice', 0, 'x', 0, $3, 0 FROM n`,
		maxTokens, []byte{1}, c.Now().Add(day).UnixMicro()); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Credentials.CreateToken(t.Context(), alice, NewToken{Name: "x", Expires: c.Now().Add(day)})
	wantError(t, "one token more", err, ErrTooMany)
	must[Identity](t)(s.Credentials.Authenticate(t.Context(), oldest.Token.Reveal()))
	c.pass(time.Second)
	_, newest := enter(t, s, "alice")
	wantDead(t, s, "the oldest session", oldest.Token.Reveal())
	must[Identity](t)(s.Credentials.Authenticate(t.Context(), newest.Token.Reveal()))
}
