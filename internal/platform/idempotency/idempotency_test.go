package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
	"kqueen.io/kqueen/internal/platform/invalid"
)

func TestMain(m *testing.M) { os.Exit(databasetest.Run(m)) }

var testKey = bytes.Repeat([]byte{7}, KeySize)

var request = sha256.Sum256([]byte("POST /clusters"))

// clock is what a store takes for the time.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

func open(t *testing.T, db *database.DB) (*Store, *clock) {
	t.Helper()
	s, err := Open(t.Context(), db, testKey)
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s.now = c.Now
	return s, c
}

// of is a caller with a session.
func of(account string) Caller { return Caller{Account: account, Credential: "session 1"} }

// begin wants a claim.
func begin(t *testing.T, s *Store, caller Caller, key string) *Claim {
	t.Helper()
	answer, claim, err := s.Begin(t.Context(), caller, key, request)
	if err != nil || answer != nil || claim == nil {
		t.Fatalf("%v %s: got %+v, %v, %v; want a claim", caller, key, answer, claim, err)
	}
	return claim
}

// replayed wants an answer.
func replayed(t *testing.T, s *Store, caller Caller, key string, want Answer) {
	t.Helper()
	answer, claim, err := s.Begin(t.Context(), caller, key, request)
	if err != nil || claim != nil {
		t.Fatalf("%v %s: got %v, %v; want an answer", caller, key, claim, err)
	}
	if diff := cmp.Diff(&want, answer); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func rows(t *testing.T, db *database.DB) int {
	t.Helper()
	var n int
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM idempotency_answers`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

var created = Answer{Body: []byte("{\"a\":1}\x00\xff")}

// TestBegin goes through the life of a key.
func TestBegin(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s, clock := open(t, db)
		claim := begin(t, s, of("anna"), "k")
		_, _, err := s.Begin(t.Context(), of("anna"), "k", request)
		if running, ok := errors.AsType[*RunningError](err); !ok || running.RetryAfter != Lease {
			t.Errorf("while it runs: %v", err)
		}
		begin(t, s, of("boris"), "k") // another caller's key is another key
		begin(t, s, Caller{Account: "anna", Credential: "session 2"}, "k")
		begin(t, s, Caller{Account: "annasession", Credential: " 1"}, "k")
		other := sha256.Sum256([]byte("DELETE /clusters/a"))
		if _, _, err := s.Begin(t.Context(), of("anna"), "k", other); !is[*ReusedError](err) {
			t.Errorf("another request while it runs: %v", err)
		}
		if err := claim.Finish(t.Context(), created); err != nil {
			t.Fatal(err)
		}
		again, _ := open(t, db) // another replica
		again.now = clock.Now
		replayed(t, again, of("anna"), "k", created)
		if _, _, err := s.Begin(t.Context(), of("anna"), "k", other); !is[*ReusedError](err) {
			t.Errorf("another request after it: %v", err)
		}
		if err := claim.Finish(t.Context(), Answer{Body: []byte("late")}); !is[*LostError](err) {
			t.Errorf("finished twice: %v", err)
		}
		if err := claim.Release(t.Context()); !is[*LostError](err) {
			t.Errorf("released after it was finished: %v", err)
		}
		clock.advance(Lifetime - time.Second)
		replayed(t, s, of("anna"), "k", created)
		clock.advance(time.Second)
		begin(t, s, of("anna"), "k")
		if n := rows(t, db); n != 1 {
			t.Errorf("%d rows; want the old ones swept", n)
		}
	})
}

// TestDied: a first request that died frees its key after a bound, and cannot come back.
func TestDied(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s, clock := open(t, db)
		died := begin(t, s, of("anna"), "k")
		clock.advance(Lease - time.Second)
		if _, _, err := s.Begin(t.Context(), of("anna"), "k", request); !is[*RunningError](err) {
			t.Errorf("before its time: %v", err)
		}
		clock.advance(time.Second)
		second := begin(t, s, of("anna"), "k")
		if err := died.Finish(t.Context(), Answer{Body: []byte("late")}); !is[*LostError](err) {
			t.Errorf("the first one came back: %v", err)
		}
		if err := died.Release(t.Context()); !is[*LostError](err) {
			t.Errorf("the first one freed the key of the second: %v", err)
		}
		if err := second.Finish(t.Context(), created); err != nil {
			t.Fatal(err)
		}
		replayed(t, s, of("anna"), "k", created)
	})
}

func TestRelease(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s, _ := open(t, db)
		if err := begin(t, s, of("anna"), "k").Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		claim := begin(t, s, of("anna"), "k")
		cancel()
		if err := claim.Finish(ctx, created); err != nil {
			t.Errorf("the client is gone, and the answer with it: %v", err)
		}
		replayed(t, s, of("anna"), "k", created)
	})
}

// TestTogether: of many equal requests at several replicas one is carried out.
func TestTogether(t *testing.T) {
	databasetest.EachAddress(t, func(t *testing.T, address string) {
		var all sync.WaitGroup
		claims := make(chan *Claim, 100)
		for range 3 {
			s, _ := open(t, databasetest.Open(t, address))
			for range 10 {
				all.Go(func() {
					_, claim, err := s.Begin(t.Context(), of("anna"), "k", request)
					if claim != nil {
						claims <- claim
					} else if !is[*RunningError](err) {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if len(claims) != 1 {
			t.Errorf("%d claims", len(claims))
		}
	})
}

// fill adds rows as n requests of a caller that run have them.
func fill(t *testing.T, s *Store, caller string, n int) {
	t.Helper()
	_, err := s.db.ExecContext(t.Context(), `WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < $1)
		INSERT INTO idempotency_answers (id, caller, request, claim, expires, key_id) SELECT 'filled ' || n, $2, '', '', $3, '' FROM number`,
		n, s.keys.row(of(caller), "", request).caller, database.Time(s.now().Add(Lease)))
	if err != nil {
		t.Fatal(err)
	}
}

func TestBounds(t *testing.T) {
	s, clock := open(t, databasetest.Open(t, databasetest.SQLite(t)))
	for name, key := range map[string]string{
		"Empty": "", "Long": strings.Repeat("x", MaxKey+1), "Control": "a\nb", "NotASCII": "é", "Delete": "\x7f",
	} {
		if _, _, err := s.Begin(t.Context(), of("anna"), key, request); !is[*invalid.Error](err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	claim := begin(t, s, of("anna"), strings.Repeat("~", MaxKey))
	if err := claim.Finish(t.Context(), Answer{Body: make([]byte, MaxBody+1)}); err != nil {
		t.Fatal(err)
	}
	replayed(t, s, of("anna"), strings.Repeat("~", MaxKey), Answer{TooLong: true})
	fill(t, s, "anna", MaxPerCaller-1)
	if _, _, err := s.Begin(t.Context(), of("anna"), "one more", request); !is[*TooManyError](err) {
		t.Errorf("got %v", err)
	}
	other := Caller{Account: "anna", Credential: "session 2"}
	if _, _, err := s.Begin(t.Context(), other, "one more", request); !is[*TooManyError](err) {
		t.Errorf("with another session: %v", err)
	}
	begin(t, s, of("boris"), "one more")
	clock.advance(Lease)
	begin(t, s, of("anna"), "one more")
	if _, err := Open(t.Context(), s.db, []byte("marker")); err == nil || strings.Contains(err.Error(), "marker") {
		t.Errorf("a short key: %v", err)
	}
}

// TestNothingInClear: what callers send and get is not in the file of the database.
func TestNothingInClear(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kqueen.db")
	db := databasetest.Open(t, database.FileURL(file))
	s, _ := open(t, db)
	claim := begin(t, s, of("marker-anna"), "marker-key")
	if err := claim.Finish(t.Context(), Answer{Body: []byte("marker")}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(file + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte("marker")) || bytes.Contains(content, request[:]) || bytes.Contains(content, fmt.Appendf(nil, "%x", request)) {
			t.Errorf("%s has it in clear", name)
		}
	}
}

// TestMoved: an answer that an attacker puts into another row, or changes, is not given to any caller.
func TestMoved(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		s, _ := open(t, db)
		for _, caller := range []string{"anna", "boris"} {
			if err := begin(t, s, of(caller), "k").Finish(t.Context(), Answer{Body: []byte(caller)}); err != nil {
				t.Fatal(err)
			}
		}
		anna := s.keys.row(of("anna"), "k", request).id
		for _, statement := range []string{
			`UPDATE idempotency_answers SET key_id = 'other' WHERE id = $1`,
			`UPDATE idempotency_answers SET answer = (SELECT answer FROM idempotency_answers WHERE id <> $1) WHERE id = $1`,
		} {
			if _, err := db.ExecContext(t.Context(), statement, anna); err != nil {
				t.Fatal(err)
			}
			answer, claim, err := s.Begin(t.Context(), of("anna"), "k", request)
			if err == nil || answer != nil || claim != nil {
				t.Errorf("%s: got %+v, %v, %v", statement, answer, claim, err)
			}
		}
	})
}

// TestUpgrade: what was kept by the name of a caller alone, and with secrets, is gone.
func TestUpgrade(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		const first = "migrations/001_answers.sql"
		content, err := migrations.ReadFile(first)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Migrate(t.Context(), "idempotency", fstest.MapFS{first: {Data: content}}); err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(), `INSERT INTO idempotency_answers (id, caller, request, claim, expires, key_id, answer)
			VALUES ('1', 'anna', '', '', $1, '', $2)`, database.Time(time.Now().Add(Lifetime)), []byte("sealed"))
		if err != nil {
			t.Fatal(err)
		}
		open(t, db)
		if n := rows(t, db); n != 0 {
			t.Errorf("%d answers are left", n)
		}
	})
}

func FuzzOpen(f *testing.F) {
	k, err := newKeys(testKey)
	if err != nil {
		f.Fatal(err)
	}
	r := k.row(of("anna"), "k", request)
	genuine, err := k.seal(r, created)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(genuine)
	f.Add(genuine[:20])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, sealed []byte) {
		a, err := k.open(r, k.id, sealed)
		if err == nil && !cmp.Equal(a, &created) || err != nil && a != nil {
			t.Errorf("%x: %+v, %v", sealed, a, err)
		}
	})
}
