package access

import (
	"context"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/tenancy/access/password"
)

func TestSignIn(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice", DisplayName: "Alice", Email: "alice@example.com", Admin: true})
	id, session := enter(t, s, "alice")
	if id.Kind != User || id.Name != "alice" || id.DisplayName != "Alice" || id.Email != "alice@example.com" ||
		len(id.Groups) != 0 || !id.Admin || !id.OwnerAdmin || id.Scope != nil {
		t.Errorf("got %+v", id)
	}
	if want := (Credential{Kind: Session, ID: session.ID, Expires: c.Now().Add(24 * time.Hour)}); id.Credential != want {
		t.Errorf("got %+v, want %+v", id.Credential, want)
	}
	if !strings.HasPrefix(session.Token.Reveal(), "kqu_") || session.Name != "Firefox" || !session.IdleExpires.Equal(c.Now().Add(8*time.Hour)) {
		t.Errorf("got %+v", session.CredentialInfo)
	}
	if user := must[UserInfo](t)(s.Users.Get(t.Context(), "alice")); !user.SignedIn.Equal(c.Now()) {
		t.Errorf("signed in at %s", user.SignedIn)
	}
}

// TestSignInRefused: the answer is the same whatever is wrong.
func TestSignInRefused(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice", Admin: true})
	addUser(t, s, NewUser{Name: "off"})
	must[UserInfo](t)(s.Users.Create(t.Context(), NewUser{Name: "invited"}))
	if err := s.Users.Disable(t.Context(), "off"); err != nil {
		t.Fatal(err)
	}
	must[ServiceAccountInfo](t)(s.ServiceAccounts.Create(t.Context(), "ci", "", Scope{"payments", "owner"}))
	tests := map[string]struct{ name, password string }{
		"Wrong":          {"alice", bees + "."},
		"Empty":          {"alice", ""},
		"Huge":           {"alice", strings.Repeat(bees, 1000)},
		"Case":           {"Alice", bees},
		"Disabled":       {"off", bees},
		"NoPassword":     {"invited", ""},
		"NoPassword2":    {"invited", "no user has it, and it would not be looked at"},
		"Unknown":        {"nobody", bees},
		"UnknownDecoy":   {"nobody", "no user has it, and it would not be looked at"},
		"Nothing":        {"", ""},
		"HugeName":       {strings.Repeat("x", 1<<20), bees},
		"ServiceAccount": {"sa:payments:ci", ""},
		"Quote":          {"' OR 1=1 --", bees},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			count := &counter{checker: s.Passwords.checker}
			s.Passwords.checker = count
			if _, err := s.Passwords.SignIn(t.Context(), tc.name, tc.password, Origin{}); err != ErrUnauthenticated { //nolint:errorlint // the very same
				t.Errorf("got %v", err)
			}
			if count.checks != 1 {
				t.Errorf("%d hashes were computed, want 1 whatever is wrong", count.checks)
			}
		})
	}
}

// counter counts the work.
type counter struct {
	checker

	checks int
}

func (c *counter) Check(ctx context.Context, hash, text string) (good, stale bool, err error) {
	c.checks++
	return c.checker.Check(ctx, hash, text)
}

// meanwhile does something while a password is looked at.
type meanwhile struct {
	checker

	act func() error
}

func (m meanwhile) Check(ctx context.Context, hash, text string) (good, stale bool, err error) {
	if err := m.act(); err != nil {
		return false, false, err
	}
	good, _, err = m.checker.Check(ctx, hash, text)
	return good, true, err
}

// setPassword gives a user another password, as one does who was given a one-time token.
func setPassword(t *testing.T, s *Service, name, text string) error {
	t.Helper()
	once, err := s.Passwords.Reset(t.Context(), name)
	if err != nil {
		return err
	}
	return s.Passwords.Choose(t.Context(), once.Token.Reveal(), text)
}

// TestMeanwhile: what changes an account while a user signs in with the old password wins.
func TestMeanwhile(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	real := s.Passwords.checker
	s.Passwords.checker = meanwhile{real, func() error { return setPassword(t, s, "alice", glass) }}
	_, err := s.Passwords.SignIn(t.Context(), "alice", bees, home)
	wantError(t, "sign in", err, ErrUnauthenticated)
	s.Passwords.checker = real
	must[Issued](t)(s.Passwords.SignIn(t.Context(), "alice", glass, home))

	s.Passwords.checker = meanwhile{real, func() error { return setPassword(t, s, "alice", bees) }}
	wantError(t, "change", s.Passwords.Change(t.Context(), "alice", glass, "a third one, quite long", home), ErrUnauthenticated)
	s.Passwords.checker = meanwhile{real, func() error { return s.Users.Delete(t.Context(), "alice") }}
	_, err = s.Passwords.SignIn(t.Context(), "alice", bees, home)
	wantError(t, "deleted", err, ErrUnauthenticated)
}

// TestBusy: an attempt that could not be checked does not count.
func TestBusy(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	real := s.Passwords.checker
	s.Passwords.checker = busy{real}
	for range 10 {
		_, err := s.Passwords.SignIn(t.Context(), "alice", bees, home)
		wantError(t, "busy", err, password.ErrBusy)
	}
	s.Passwords.checker = real
	enter(t, s, "alice")
}

// busy is a checker behind a full queue.
type busy struct{ checker }

func (busy) Check(context.Context, string, string) (good, stale bool, err error) {
	return false, false, password.ErrBusy
}

// TestStaleHash: a hash of another cost is made again at the next sign-in, and nothing else changes.
func TestStaleHash(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	_, before := enter(t, s, "alice")
	dearer, err := Open(t.Context(), Config{DB: s.store.db, Now: c.Now, PasswordCost: password.Cost{Memory: 128, Passes: 1, Lanes: 1}})
	if err != nil {
		t.Fatal(err)
	}
	enter(t, dearer, "alice")
	a := must[account](t)(findAccount(t.Context(), s.store.db, User, "alice"))
	if !strings.HasPrefix(a.password, "$argon2id$v=19$m=128,") {
		t.Error(a.password)
	}
	enter(t, dearer, "alice")
	if _, err := s.Credentials.Authenticate(t.Context(), before.Token.Reveal()); err != nil {
		t.Error(err)
	}
}

func TestChangePassword(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	wantError(t, "wrong", s.Passwords.Change(t.Context(), "alice", glass, glass, home), ErrUnauthenticated)
	wantInvalid(t, s.Passwords.Change(t.Context(), "alice", bees, "short", home), "password", "has 5 characters")
	wantInvalid(t, s.Passwords.Change(t.Context(), "alice", bees, bees, home), "password", "it is the one that you have")
	if err := s.Passwords.Change(t.Context(), "alice", bees, glass, home); err != nil {
		t.Fatal(err)
	}
	_, err := s.Passwords.SignIn(t.Context(), "alice", bees, home)
	wantError(t, "the old one", err, ErrUnauthenticated)
	must[Issued](t)(s.Passwords.SignIn(t.Context(), "alice", glass, home))
}

func TestResetPassword(t *testing.T) {
	s, c := open(t)
	must[UserInfo](t)(s.Users.Create(t.Context(), NewUser{Name: "alice"}))
	replaced := must[OneTime](t)(s.Passwords.Reset(t.Context(), "alice"))
	late := must[OneTime](t)(s.Passwords.Reset(t.Context(), "alice"))
	wantError(t, "replaced", s.Passwords.Choose(t.Context(), replaced.Token.Reveal(), bees), ErrSpent)
	c.pass(choosePassLife)
	wantError(t, "late", s.Passwords.Choose(t.Context(), late.Token.Reveal(), bees), ErrSpent)
	good := must[OneTime](t)(s.Passwords.Reset(t.Context(), "alice"))
	wantInvalid(t, s.Passwords.Choose(t.Context(), good.Token.Reveal(), "password1234"), "password", "one of the commonest")
	_, err := s.Setup.MakeAdmin(t.Context(), good.Token.Reveal(), NewUser{Name: "mallory", Password: bees})
	wantError(t, "for something else", err, ErrSpent)
	for range 5 {
		_, _ = s.Passwords.SignIn(t.Context(), "alice", "wrong", home)
	}
	wantOne(t, ErrSpent, func(int) error { return s.Passwords.Choose(t.Context(), good.Token.Reveal(), bees) })
	enter(t, s, "alice") // and is not locked out
	_, err = s.Passwords.Reset(t.Context(), "bob")
	wantError(t, "nobody", err, ErrNotFound)
	if err := s.Users.Disable(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Passwords.Reset(t.Context(), "alice")
	wantError(t, "disabled", err, ErrNotFound)
}
