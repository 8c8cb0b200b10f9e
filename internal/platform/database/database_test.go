package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

func TestMain(m *testing.M) { os.Exit(databasetest.Run(m)) }

var counters = fstest.MapFS{"migrations/001_counters.sql": {Data: []byte(`-- +goose Up
CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL);
`)}}

// TestDo: acts under one lock follow each other, and one that fails leaves nothing.
func TestDo(t *testing.T) { databasetest.Each(t, testDo) }

func testDo(t *testing.T, db *database.DB) {
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
	if _, err := db.ExecContext(t.Context(), `INSERT INTO counters (name, value) VALUES ('c', 1)`); !database.Taken(err) {
		t.Errorf("a second row of the same key: %v", err)
	}
}

// TestDoPanic: an act that panics leaves nothing, and no lock.
func TestDoPanic(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		if err := db.Migrate(t.Context(), "test", counters); err != nil {
			t.Fatal(err)
		}
		insert := func(tx *sql.Tx) {
			if _, err := tx.ExecContext(t.Context(), `INSERT INTO counters (name, value) VALUES ('c', 1)`); err != nil {
				t.Error(err)
			}
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = db.Do(t.Context(), "counter", func(tx *sql.Tx) error {
				insert(tx)
				panic("in the act")
			})
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := db.Do(ctx, "counter", func(tx *sql.Tx) error { insert(tx); return nil }); err != nil {
			t.Error(err)
		}
	})
}

// TestDoGivesUp: who waits for another writer of SQLite waits no longer than its context.
func TestDoGivesUp(t *testing.T) {
	db := databasetest.Open(t, databasetest.SQLite(t))
	err := db.Do(t.Context(), "", func(*sql.Tx) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return db.Do(ctx, "", func(*sql.Tx) error { return nil })
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestMigrateTogether: replicas, and owners within each, migrate at once, more of them than there are connections.
func TestMigrateTogether(t *testing.T) {
	databasetest.EachAddress(t, func(t *testing.T, address string) {
		var all sync.WaitGroup
		for range 3 {
			db := databasetest.Open(t, address)
			for owner := range 10 {
				all.Go(func() {
					name := fmt.Sprintf("owner_%d", owner)
					tables := fstest.MapFS{}
					for step := range 3 {
						tables[fmt.Sprintf("migrations/%03d_table.sql", step+1)] = &fstest.MapFile{Data: fmt.Appendf(nil,
							"-- +goose Up\nCREATE TABLE %s_%d (id BIGINT PRIMARY KEY);\n", name, step)}
					}
					if err := db.Migrate(t.Context(), name, tables); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
	})
}

// TestMigrateFails: a migration that cannot be applied is an error, and is not tried for ever.
func TestMigrateFails(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		wrong := fstest.MapFS{
			"migrations/001_right.sql": {Data: []byte("-- +goose Up\nCREATE TABLE fine (id BIGINT PRIMARY KEY);\n")},
			"migrations/002_wrong.sql": {Data: []byte("-- +goose Up\nCREATE TABLE wrong (;\n")},
		}
		if err := db.Migrate(t.Context(), "test", wrong); err == nil || !strings.Contains(err.Error(), "migrate the tables of test") {
			t.Errorf("got %v", err)
		}
	})
}

// TestMigrateOwn: where there is a folder for each database, it is used.
func TestMigrateOwn(t *testing.T) {
	table := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE " + name + " (id BIGINT PRIMARY KEY);\n")}
	}
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		own := fstest.MapFS{"migrations/sqlite/001_table.sql": table("for_SQLite"), "migrations/postgres/001_table.sql": table("for_PostgreSQL")}
		if err := db.Migrate(t.Context(), "test", own); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "SELECT id FROM for_"+path.Base(t.Name())); err != nil {
			t.Error(err)
		}
	})
}

func TestOpenSQLiteIsPrivate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b%20?.db")
	db, err := database.Open(t.Context(), database.FileURL(file))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context(), "test", counters); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(file + "*")
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
			_, err := database.Open(ctx, tc.address)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "marker") {
				t.Errorf("got %v, want %q and no password", err, tc.want)
			}
		})
	}
}
