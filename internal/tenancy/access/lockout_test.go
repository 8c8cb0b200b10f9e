package access

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestLockOut: users who are there and who are not are locked out alike, over a restart too.
func TestLockOut(t *testing.T) {
	for _, name := range []string{"alice", "nobody"} {
		t.Run(name, func(t *testing.T) {
			s, c := open(t)
			addUser(t, s, NewUser{Name: "alice"})
			for i, seconds := range []int{0, 0, 0, 0, 10, 30, 60, 300, 900, 900} {
				wait := time.Duration(seconds) * time.Second
				_, err := s.Passwords.SignIn(t.Context(), name, "wrong", Origin{})
				wantError(t, fmt.Sprint("attempt ", i+1), err, ErrUnauthenticated)
				if wait == 0 {
					continue
				}
				s = openOn(t, s.store.db, c)
				until := c.Now().Add(wait)
				for _, text := range []string{"wrong", bees} {
					_, err := s.Passwords.SignIn(t.Context(), name, text, Origin{})
					wantLocked(t, fmt.Sprint("after attempt ", i+1), err, until)
				}
				c.pass(wait)
			}
			if name == "alice" {
				must[Issued](t)(s.Passwords.SignIn(t.Context(), "alice", bees, Origin{})) // and all is forgotten
				for range 4 {
					_, err := s.Passwords.SignIn(t.Context(), name, "wrong", Origin{})
					wantError(t, "after a success", err, ErrUnauthenticated)
				}
				must[Issued](t)(s.Passwords.SignIn(t.Context(), "alice", bees, Origin{}))
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
			must[Issued](t)(s.Passwords.SignIn(t.Context(), "mallory", bees, from(i)))
		}
		_, err := s.Passwords.SignIn(t.Context(), fmt.Sprint("user", i), "wrong", from(i))
		wantError(t, fmt.Sprint("attempt ", i), err, ErrUnauthenticated)
	}
	addUser(t, s, NewUser{Name: "alice"})
	_, err := s.Passwords.SignIn(t.Context(), "alice", bees, from(99))
	wantLocked(t, "the 31st, of one who has never been here", err, c.Now().Add(10*time.Second))
	must[Issued](t)(s.Passwords.SignIn(t.Context(), "mallory", bees, from(99)))
	_, err = s.Passwords.SignIn(t.Context(), "alice", bees, from(99))
	wantLocked(t, "after a sign-in of one who has", err, c.Now().Add(10*time.Second))
	must[Issued](t)(s.Passwords.SignIn(t.Context(), "alice", bees, home))
	c.pass(day)
	must[Issued](t)(s.Passwords.SignIn(t.Context(), "mallory", bees, from(1)))
}

// stranger is one of many addresses that are the user's in no case.
func stranger(i int) Origin {
	return Origin{Address: netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)})}
}

// TestStrangersLockOutThemselves: what strangers try shuts the user out neither where the user has signed in before nor at
// an address that is new.
func TestStrangersLockOutThemselves(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	for range 20 {
		_, _ = s.Passwords.SignIn(t.Context(), "alice", "wrong", stranger(0))
	}
	_, err := s.Passwords.SignIn(t.Context(), "alice", bees, stranger(0))
	wantLocked(t, "the stranger, who has guessed it", err, c.Now().Add(10*time.Second))
	enter(t, s, "alice") // at home, for the first time

	for i := range underAttack {
		_, err := s.Passwords.SignIn(t.Context(), "alice", "wrong", stranger(i+1))
		wantError(t, fmt.Sprint("stranger ", i), err, ErrUnauthenticated)
	}
	for range 4 {
		_, err := s.Passwords.SignIn(t.Context(), "alice", "wrong", home)
		wantError(t, "a slip at home during an attack", err, ErrUnauthenticated)
	}
	enter(t, s, "alice")
	away := stranger(1000)
	must[Issued](t)(s.Passwords.SignIn(t.Context(), "alice", bees, away))
	elsewhere := stranger(1001)
	_, err = s.Passwords.SignIn(t.Context(), "alice", "wrong", elsewhere)
	wantError(t, "the first attempt elsewhere", err, ErrUnauthenticated)
	_, err = s.Passwords.SignIn(t.Context(), "alice", bees, elsewhere)
	wantLocked(t, "the second one", err, c.Now().Add(15*time.Minute))
	c.pass(15 * time.Minute)
	must[Issued](t)(s.Passwords.SignIn(t.Context(), "alice", bees, elsewhere))
}

// TestKnownAddresses: they are the user's own alone, bounded, and forgotten with the user or in time.
func TestKnownAddresses(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	known := func() (n int) {
		if err := s.store.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM access_known`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	_, _ = s.Passwords.SignIn(t.Context(), "alice", "wrong", stranger(1))
	if n := known(); n != 0 {
		t.Errorf("%d addresses are known by failures", n)
	}
	for i := range maxKnown + 3 {
		c.pass(time.Second)
		must[Issued](t)(s.Passwords.SignIn(t.Context(), "alice", bees, stranger(i)))
	}
	if n := known(); n != maxKnown {
		t.Errorf("%d addresses are known, want %d", n, maxKnown)
	}
	if there := must[bool](t)(knows(t.Context(), s.store.db, "alice", sourceOf(stranger(2).Address))); there {
		t.Error("the oldest one stayed")
	}
	c.pass(knownFor - time.Second)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := known(); n != 1 {
		t.Errorf("%d addresses are known after %s, want the last", n, knownFor)
	}
	if err := s.Users.Delete(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	if n := known(); n != 0 {
		t.Errorf("%d addresses of a user who is gone are known", n)
	}
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
			_, err := s.Passwords.SignIn(t.Context(), "alice", "wrong", Origin{})
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
		_, _ = s.Passwords.SignIn(t.Context(), "alice", "wrong", Origin{})
	}
	if _, err := s.store.db.ExecContext(t.Context(), `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO access_guesses (target, failures, last, until) SELECT 'user:' || i, 1, $2, 0 FROM n`,
		maxGuesses, c.Now().UnixMicro()); err != nil {
		t.Fatal(err)
	}
	_, err := s.Passwords.SignIn(t.Context(), "one more", "wrong", Origin{})
	wantError(t, "one more", err, ErrUnauthenticated)
	var rows int
	if err := s.store.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM access_guesses`).Scan(&rows); err != nil || rows > maxGuesses {
		t.Errorf("%d rows, %v", rows, err)
	}
	if _, err := s.Passwords.SignIn(t.Context(), "alice", bees, Origin{}); err == nil {
		t.Error("the failures of alice were forgotten")
	}
	c.pass(guessMemory)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.store.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM access_guesses`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows after a day, %v", rows, err)
	}
}

// TestStrangersWait: a caller who is not signed in waits for others who are not, and holds up none who is.
func TestStrangersWait(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	_, session := enter(t, s, "alice")
	s.store.strangers <- struct{}{} // a stranger whose attempt is being written down
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, byDevice := s.Devices.Start(gone, home)
	_, byPassword := s.Passwords.SignIn(gone, "alice", bees, home)
	for _, err := range []error{byDevice, byPassword} {
		if err == nil || !strings.Contains(err.Error(), "wait for others who are not signed in: context canceled") {
			t.Errorf("got %v", err)
		}
	}
	must[Identity](t)(s.Credentials.Authenticate(t.Context(), session.Token.Reveal()))
	<-s.store.strangers
	enter(t, s, "alice")
}
