package databasetest

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/database"
)

func TestMain(m *testing.M) { os.Exit(Run(m)) }

// TestStop: nothing of a server stays, and nothing of a killed test binary's.
func TestStop(t *testing.T) {
	left, err := os.MkdirTemp("", folders) //nolint:usetesting // stands where servers have their folders
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(left) })
	if err := os.WriteFile(filepath.Join(left, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what was left is still there: %v", err)
	}
	sweep()
	if err := s.administer(t.Context(), "postgres", "CREATE DATABASE one"); err != nil {
		t.Errorf("a server that runs was swept: %v", err)
	}
	pid := s.process.Pid
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if err := unix.Kill(-pid, 0); err == nil {
		t.Error("processes of the server are still there")
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestEach: both databases are empty, and PostgreSQL's are not the same one.
func TestEach(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves PostgreSQL out")
	}
	for range 2 {
		seen := map[string]bool{}
		EachAddress(t, func(t *testing.T, address string) {
			seen[t.Name()] = true
			if _, err := Open(t, address).ExecContext(t.Context(), `CREATE TABLE mine (id BIGINT PRIMARY KEY)`); err != nil {
				t.Error(err)
			}
		})
		if len(seen) != 2 {
			t.Errorf("ran on %v, want both databases", seen)
		}
	}
}

// TestGivenBack: the next test that has a database finds nothing of the one before, and is not disturbed by it.
func TestGivenBack(t *testing.T) {
	var former string
	t.Run("Before", func(t *testing.T) {
		former = PostgreSQL(t)
		db, err := database.Open(t.Context(), former) // and never closes it
		if err != nil {
			t.Fatal(err)
		}
		tx, err := db.BeginTx(t.Context(), nil)
		if err == nil {
			_, err = tx.ExecContext(t.Context(), "CREATE TABLE left_over (id INTEGER)")
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE other (id INTEGER)"); err != nil {
			t.Fatal(err)
		}
	})
	address := PostgreSQL(t)
	if address != former {
		t.Errorf("got %s, want the one that was given back, %s", address, former)
	}
	var tables int
	if err := Open(t, address).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_tables WHERE tablename IN ('left_over', 'other')").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables are left, %v", tables, err)
	}
}
