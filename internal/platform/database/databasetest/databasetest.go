// Package databasetest runs a test on every database that KQueen takes: SQLite in
// a file, and a real PostgreSQL, which is started once per test binary, at the
// first use, from the programs of the system.
//
// It hides how PostgreSQL is found, started, stopped and removed, also after a
// test binary that was killed. Only tests may import it.
package databasetest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"kqueen.io/kqueen/internal/platform/database"
)

// shared is the one server of this test binary.
var shared struct {
	once   sync.Once
	ready  atomic.Bool // Run was called, so that Run stops the server
	server *server
	err    error
}

// Run runs the tests of a package and stops the server after them. Call it from TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(databasetest.Run(m)) }
func Run(m interface{ Run() int }) int {
	shared.ready.Store(true)
	code := m.Run()
	if shared.server == nil {
		return code
	}
	if err := shared.server.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
		return 1
	}
	return code
}

// Each runs a test on SQLite and on PostgreSQL, each time on an empty database that is closed after it.
func Each(t *testing.T, run func(t *testing.T, db *database.DB)) {
	t.Helper()
	EachAddress(t, func(t *testing.T, address string) { run(t, Open(t, address)) })
}

// EachAddress does what [Each] does for tests that open the database themselves, as several replicas do.
func EachAddress(t *testing.T, run func(t *testing.T, address string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { run(t, SQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { run(t, PostgreSQL(t)) })
}

// Open opens a database until the end of the test.
func Open(tb testing.TB, address string) *database.DB {
	tb.Helper()
	db, err := database.Open(tb.Context(), address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

// SQLite returns the address of a SQLite database that is not there yet.
func SQLite(tb testing.TB) string {
	tb.Helper()
	return database.FileURL(filepath.Join(tb.TempDir(), "kqueen.db"))
}

// PostgreSQL returns the address of an empty PostgreSQL database, which is the test's own until its end.
func PostgreSQL(tb testing.TB) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts PostgreSQL, which -short leaves out")
	}
	if !shared.ready.Load() {
		tb.Fatal("nothing would stop PostgreSQL: call databasetest.Run from TestMain")
	}
	shared.once.Do(func() { shared.server, shared.err = start(context.WithoutCancel(tb.Context())) })
	if shared.err != nil {
		tb.Fatalf("start PostgreSQL: %v", shared.err)
	}
	name, err := shared.server.borrow(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := shared.server.giveBack(context.WithoutCancel(tb.Context()), name); err != nil {
			tb.Error(err)
		}
	})
	return shared.server.address(name)
}

// borrow returns the name of a database that is empty. One that was given back is taken first: to make one copies three
// hundred files, and to remove it writes all others to the disk.
func (s *server) borrow(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		name := s.free[n-1]
		s.free = s.free[:n-1]
		return name, nil
	}
	s.made++
	name := fmt.Sprintf("test_%d", s.made)
	return name, s.administer(ctx, "postgres", "CREATE DATABASE "+name)
}

// giveBack ends what still uses a database, and empties it.
func (s *server) giveBack(ctx context.Context, name string) error {
	if err := s.administer(ctx, name,
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
		"DROP SCHEMA public CASCADE", "CREATE SCHEMA public"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, name)
	return nil
}

// administer runs statements in a database outside of the tests.
func (s *server) administer(ctx context.Context, name string, statements ...string) error {
	db, err := database.Open(ctx, s.address(name))
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// address is that of a database of the server, by its socket: nothing listens on the network.
func (s *server) address(name string) string {
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + name, RawQuery: url.Values{"host": {s.dir}}.Encode()}
	return u.String()
}
