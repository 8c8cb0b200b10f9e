package access

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
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
	if want := (Credential{Session, session.ID, c.Now().Add(24 * time.Hour)}); id.Credential != want {
		t.Errorf("got %+v, want %+v", id.Credential, want)
	}
	if !strings.HasPrefix(session.Token.Reveal(), "kqu_") || session.Name != "Firefox" || !session.IdleExpires.Equal(c.Now().Add(8*time.Hour)) {
		t.Errorf("got %+v", session.CredentialInfo)
	}
	if user := must[UserInfo](t)(s.GetUser(t.Context(), "alice")); !user.SignedIn.Equal(c.Now()) {
		t.Errorf("signed in at %s", user.SignedIn)
	}
}

// TestSignInRefused: the answer is the same whatever is wrong.
func TestSignInRefused(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice", Admin: true})
	addUser(t, s, NewUser{Name: "off"})
	must[UserInfo](t)(s.CreateUser(t.Context(), NewUser{Name: "invited"}))
	if err := s.DisableUser(t.Context(), "off"); err != nil {
		t.Fatal(err)
	}
	must[ServiceAccountInfo](t)(s.CreateServiceAccount(t.Context(), "ci", "", Scope{"payments", "owner"}))
	tests := map[string]struct{ name, password string }{
		"Wrong":          {"alice", bees + "."},
		"Empty":          {"alice", ""},
		"Huge":           {"alice", strings.Repeat(bees, 1000)},
		"Case":           {"Alice", bees},
		"Disabled":       {"off", bees},
		"NoPassword":     {"invited", ""},
		"NoPassword2":    {"invited", "nobody has it, and it would not be looked at"},
		"Unknown":        {"nobody", bees},
		"UnknownDecoy":   {"nobody", "nobody has it, and it would not be looked at"},
		"Nothing":        {"", ""},
		"HugeName":       {strings.Repeat("x", 1<<20), bees},
		"ServiceAccount": {"sa:payments:ci", ""},
		"Quote":          {"' OR 1=1 --", bees},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			count := &counter{checker: s.passwords}
			s.passwords = count
			if _, err := s.SignIn(t.Context(), tc.name, tc.password, Origin{}); err != ErrUnauthenticated { //nolint:errorlint // the very same
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

// TestMeanwhile: what changes an account while a user signs in with the old password wins.
func TestMeanwhile(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	real := s.passwords
	s.passwords = meanwhile{real, func() error { return s.SetPassword(t.Context(), "alice", glass) }}
	_, err := s.SignIn(t.Context(), "alice", bees, home)
	wantError(t, "sign in", err, ErrUnauthenticated)
	s.passwords = real
	must[Issued](t)(s.SignIn(t.Context(), "alice", glass, home))

	s.passwords = meanwhile{real, func() error { return s.SetPassword(t.Context(), "alice", bees) }}
	wantError(t, "change", s.ChangePassword(t.Context(), "alice", glass, "a third one, quite long", home), ErrUnauthenticated)
	s.passwords = meanwhile{real, func() error { return s.DeleteUser(t.Context(), "alice") }}
	_, err = s.SignIn(t.Context(), "alice", bees, home)
	wantError(t, "deleted", err, ErrUnauthenticated)
}

// TestBusy: an attempt that could not be checked does not count.
func TestBusy(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	real := s.passwords
	s.passwords = busy{real}
	for range 10 {
		_, err := s.SignIn(t.Context(), "alice", bees, home)
		wantError(t, "busy", err, password.ErrBusy)
	}
	s.passwords = real
	enter(t, s, "alice")
}

// busy is a checker behind a full queue.
type busy struct{ checker }

func (busy) Check(context.Context, string, string) (good, stale bool, err error) {
	return false, false, password.ErrBusy
}

// TestLockOut: users who are there and who are not are locked out alike, over a restart too.
func TestLockOut(t *testing.T) {
	for _, name := range []string{"alice", "nobody"} {
		t.Run(name, func(t *testing.T) {
			s, c := open(t)
			addUser(t, s, NewUser{Name: "alice"})
			for i, seconds := range []int{0, 0, 0, 0, 10, 30, 60, 300, 900, 900} {
				wait := time.Duration(seconds) * time.Second
				_, err := s.SignIn(t.Context(), name, "wrong", Origin{})
				wantError(t, fmt.Sprint("attempt ", i+1), err, ErrUnauthenticated)
				if wait == 0 {
					continue
				}
				s = openOn(t, s.DB, c)
				until := c.Now().Add(wait)
				for _, text := range []string{"wrong", bees} {
					_, err := s.SignIn(t.Context(), name, text, home)
					wantLocked(t, fmt.Sprint("after attempt ", i+1), err, until)
				}
				c.pass(wait)
			}
			if name == "alice" {
				enter(t, s, "alice") // and all is forgotten
				for range 4 {
					_, err := s.SignIn(t.Context(), name, "wrong", Origin{})
					wantError(t, "after a success", err, ErrUnauthenticated)
				}
				enter(t, s, "alice")
			}
		})
	}
}

// TestLockOutOfAddress: many names from one address. One good account does not make it forgotten.
func TestLockOutOfAddress(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "mallory"})
	from := func(last int) Origin {
		return Origin{Address: netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", last))}
	}
	for i := range 30 {
		if i%10 == 0 {
			must[Issued](t)(s.SignIn(t.Context(), "mallory", bees, from(i)))
		}
		_, err := s.SignIn(t.Context(), fmt.Sprint("user", i), "wrong", from(i))
		wantError(t, fmt.Sprint("attempt ", i), err, ErrUnauthenticated)
	}
	_, err := s.SignIn(t.Context(), "mallory", bees, from(99))
	wantLocked(t, "the 31st", err, c.Now().Add(10*time.Second))
	must[Issued](t)(s.SignIn(t.Context(), "mallory", bees, home))
	c.pass(day)
	must[Issued](t)(s.SignIn(t.Context(), "mallory", bees, from(1)))
}

// TestLockOutAtOnce: many attempts at once are not one.
func TestLockOutAtOnce(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	var all sync.WaitGroup
	var mu sync.Mutex
	looked := 0
	for range 40 {
		all.Go(func() {
			_, err := s.SignIn(t.Context(), "alice", "wrong", Origin{})
			mu.Lock()
			defer mu.Unlock()
			if err == ErrUnauthenticated { //nolint:errorlint // the very same
				looked++
			}
		})
	}
	all.Wait()
	if looked != 5 {
		t.Errorf("%d of 40 passwords were looked at, want 5", looked)
	}
}

// TestGuessesAreBounded: a flood of invented names makes neither rows without end nor the failures of a real one forgotten.
func TestGuessesAreBounded(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	for range 5 {
		_, _ = s.SignIn(t.Context(), "alice", "wrong", Origin{})
	}
	if _, err := s.DB.ExecContext(t.Context(), `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO access_guesses (target, failures, last, until) SELECT 'user:' || i, 1, $2, 0 FROM n`,
		maxGuesses, c.Now().UnixMicro()); err != nil {
		t.Fatal(err)
	}
	_, err := s.SignIn(t.Context(), "one more", "wrong", Origin{})
	wantError(t, "one more", err, ErrUnauthenticated)
	var rows int
	if err := s.DB.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM access_guesses`).Scan(&rows); err != nil || rows > maxGuesses {
		t.Errorf("%d rows, %v", rows, err)
	}
	if _, err := s.SignIn(t.Context(), "alice", bees, Origin{}); err == nil {
		t.Error("the failures of alice were forgotten")
	}
	c.pass(guessMemory)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.DB.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM access_guesses`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows after a day, %v", rows, err)
	}
}

// TestStaleHash: a hash of another cost is made again at the next sign-in, and nothing else changes.
func TestStaleHash(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	_, before := enter(t, s, "alice")
	dearer, err := Open(t.Context(), Config{DB: s.DB, Now: c.Now, PasswordCost: password.Cost{Memory: 128, Passes: 1, Lanes: 1}})
	if err != nil {
		t.Fatal(err)
	}
	enter(t, dearer, "alice")
	a := must[account](t)(findAccount(t.Context(), s.DB, User, "alice"))
	if !strings.HasPrefix(a.password, "$argon2id$v=19$m=128,") {
		t.Error(a.password)
	}
	enter(t, dearer, "alice")
	if _, err := s.Authenticate(t.Context(), before.Token.Reveal()); err != nil {
		t.Error(err)
	}
}

func TestChangePassword(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	wantError(t, "wrong", s.ChangePassword(t.Context(), "alice", glass, glass, home), ErrUnauthenticated)
	wantInvalid(t, s.ChangePassword(t.Context(), "alice", bees, "short", home), "password", "has 5 characters")
	wantInvalid(t, s.ChangePassword(t.Context(), "alice", bees, bees, home), "password", "it is the one that you have")
	if err := s.ChangePassword(t.Context(), "alice", bees, glass, home); err != nil {
		t.Fatal(err)
	}
	_, err := s.SignIn(t.Context(), "alice", bees, home)
	wantError(t, "the old one", err, ErrUnauthenticated)
	must[Issued](t)(s.SignIn(t.Context(), "alice", glass, home))
}

// TestStrangersWait: a caller who is not signed in waits for others who are not, and holds up none who is.
func TestStrangersWait(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	_, session := enter(t, s, "alice")
	s.strangers <- struct{}{} // a stranger whose attempt is being written down
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, byDevice := s.StartDevice(gone, home)
	_, byPassword := s.SignIn(gone, "alice", bees, home)
	for _, err := range []error{byDevice, byPassword} {
		if err == nil || !strings.Contains(err.Error(), "wait for others who are not signed in: context canceled") {
			t.Errorf("got %v", err)
		}
	}
	must[Identity](t)(s.Authenticate(t.Context(), session.Token.Reveal()))
	<-s.strangers
	enter(t, s, "alice")
}
