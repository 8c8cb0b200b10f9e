package access

import (
	"database/sql"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/tenancy/access/password"
)

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

const (
	bees  = "the bees left on monday"
	glass = "went through the glass"
)

var home = Origin{Address: netip.MustParseAddr("192.0.2.7"), Client: "Firefox"}

// address is that of an empty database. All tests run on another kind when it is one of that.
func address(t *testing.T) string {
	t.Helper()
	return database.FileURL(filepath.Join(t.TempDir(), "kqueen.db"))
}

// open opens a service on a database of its own.
func open(t *testing.T) (*Service, *clock) {
	t.Helper()
	db, err := database.Open(t.Context(), address(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c := &clock{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	return openOn(t, db, c), c
}

// openOn opens one more service on a database, as another replica or a restart does.
func openOn(t *testing.T, db *database.DB, c *clock) *Service {
	t.Helper()
	s, err := Open(t.Context(), Config{
		DB: db, Now: c.Now, PasswordCost: password.Cost{Memory: 64, Passes: 1, Lanes: 1}, ProviderDeadline: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must[T any](t *testing.T) func(value T, err error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func addUser(t *testing.T, s *Service, user NewUser) {
	t.Helper()
	if user.Password == "" {
		user.Password = bees
	}
	must[UserInfo](t)(s.Users.Create(t.Context(), user))
}

// enter signs a user in.
func enter(t *testing.T, s *Service, name string) (Identity, Issued) {
	t.Helper()
	issued := must[Issued](t)(s.Passwords.SignIn(t.Context(), name, bees, home))
	return must[Identity](t)(s.Credentials.Authenticate(t.Context(), issued.Token.Reveal())), issued
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func wantLocked(t *testing.T, what string, err error, until time.Time) {
	t.Helper()
	var locked *LockedError
	if !errors.As(err, &locked) || !locked.Until.Equal(until) {
		t.Errorf("%s: got %v, want a lock until %s", what, err, until)
	}
}

func wantInvalid(t *testing.T, err error, field, problem string) {
	t.Helper()
	if bad, ok := errors.AsType[*invalid.Error](err); !ok || bad.Field != field || !strings.Contains(err.Error(), problem) {
		t.Errorf("got %v; want the field %s and %q", err, field, problem)
	}
}

// wantDead says that none of the tokens is good.
func wantDead(t *testing.T, s *Service, when string, tokens ...string) {
	t.Helper()
	for _, text := range tokens {
		id, err := s.Credentials.Authenticate(t.Context(), text)
		if !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%s: %s is still good for %q: %v", when, text[:4], id.Name, err)
		}
	}
}

// wantOne runs 100 at once, of which exactly one succeeds and the others get want.
func wantOne(t *testing.T, want error, use func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	results := make([]error, 100)
	for i := range results {
		all.Go(func() { results[i] = use(i) })
	}
	all.Wait()
	good := 0
	for _, err := range results {
		if err == nil {
			good++
		} else if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if good != 1 {
		t.Errorf("%d of 100 succeeded", good)
	}
}

// dump returns everything that is in the database.
func dump(t *testing.T, s *Service) string {
	t.Helper()
	var out strings.Builder
	for _, query := range []string{
		`SELECT * FROM access_accounts`, `SELECT * FROM access_credentials`, `SELECT * FROM access_once`,
		`SELECT * FROM access_devices`, `SELECT * FROM access_guesses`,
	} {
		rows, err := s.store.db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			into := make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for _, value := range values {
				if raw, ok := value.([]byte); ok {
					value = string(raw)
				}
				fmt.Fprintf(&out, "%v\n", value)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

type sqlTx = *sql.Tx
