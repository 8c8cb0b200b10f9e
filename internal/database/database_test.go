package database

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

func openHere(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), FileURL(filepath.Join(t.TempDir(), "a b%20?.db")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

var counters = fstest.MapFS{"001_counters.sql": {Data: []byte(`-- +goose Up
CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL);
`)}}

// TestDo: acts under one lock follow each other, and one that fails leaves nothing.
func TestDo(t *testing.T) {
	db := openHere(t)
	for range 2 { // the second time there is nothing to do
		if err := db.Migrate(t.Context(), "test", counters); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.ExecContext(t.Context(), `INSERT INTO counters (name, value) VALUES ($1, $2)`, "c", 0); err != nil {
		t.Fatal(err)
	}
	increment := func(tx *sql.Tx) error {
		var value int
		if err := tx.QueryRowContext(t.Context(), `SELECT value FROM counters WHERE name = $1`, "c").Scan(&value); err != nil {
			return err
		}
		_, err := tx.ExecContext(t.Context(), `UPDATE counters SET value = $2 WHERE name = $1`, "c", value+1)
		return err
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := db.Do(t.Context(), "counter", increment); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	failure := errors.New("after the change")
	err := db.Do(t.Context(), "counter", func(tx *sql.Tx) error { return errors.Join(increment(tx), failure) })
	if !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	var value int
	if err := db.QueryRowContext(t.Context(), `SELECT value FROM counters`).Scan(&value); err != nil || value != 20 {
		t.Errorf("20 increments and one that failed gave %d, %v", value, err)
	}
	if _, err := db.ExecContext(t.Context(), `INSERT INTO counters (name, value) VALUES ('c', 1)`); !Taken(err) {
		t.Errorf("a second row of the same key: %v", err)
	}
}

func TestOpenSQLiteIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kqueen.db")
	db, err := Open(t.Context(), FileURL(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context(), "test", counters); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

func TestOpenBadAddress(t *testing.T) {
	tests := map[string]struct{ address, want string }{
		"Scheme":   {"mysql://root:marker@there/db", `its scheme is "mysql"`},
		"NoURL":    {"postgres://user:mark er@[there/db", "it is no URL"},
		"Relative": {"sqlite:kqueen.db", "not absolute"},
		"Options":  {"postgres://user:marker@127.0.0.1/db?connect_timeout=marker", "not what PostgreSQL takes"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := Open(ctx, tc.address)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "marker") {
				t.Errorf("got %v, want %q and no password", err, tc.want)
			}
		})
	}
}
