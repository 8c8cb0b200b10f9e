package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pressly/goose/v3"
)

// TestCopyTo: a copy that is taken while others write has all that was written before, is of one moment, and has the same identity.
func TestCopyTo(t *testing.T) {
	db, err := Open(t.Context(), FileURL(filepath.Join(t.TempDir(), "live.db")))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	id, err := db.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write := func(ctx context.Context, n int) error {
		return db.Do(ctx, "", func(tx *sql.Tx) error { // a pair, of which a copy has both or none
			for _, half := range []string{"a", "b"} {
				if _, err := tx.ExecContext(ctx, `INSERT INTO pairs (name) VALUES ($1)`, fmt.Sprintf("%s%06d", half, n)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE pairs (name TEXT PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	const before = 200
	for n := range before {
		if err := write(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	writers.Go(func() {
		for n := before; ctx.Err() == nil; n++ {
			if err := write(ctx, n); err != nil && ctx.Err() == nil {
				t.Errorf("write meanwhile: %v", err)
				return
			}
		}
	})
	path := filepath.Join(t.TempDir(), "copy.db")
	err = db.CopyTo(t.Context(), path)
	stop()
	writers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v (%v), want 0600", info.Mode(), err)
	}
	copied, err := OpenExisting(FileURL(path), id)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	var a, b int
	err = copied.QueryRowContext(t.Context(), `SELECT count(CASE WHEN name LIKE 'a%' THEN 1 END), count(CASE WHEN name LIKE 'b%' THEN 1 END) FROM pairs`).Scan(&a, &b)
	if err != nil || a != b || a < before {
		t.Errorf("the copy has %d and %d (%v), want as many of each, at least %d", a, b, err, before)
	}
	if err := db.CopyTo(t.Context(), path); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a file that is there: %v", err)
	}
}

func TestOnServer(t *testing.T) {
	for address, want := range map[string]bool{"postgres://u:p@h/db": true, "postgresql://h/db": true, "sqlite:///a/b.db": false, "": false, "x": false} {
		if got := OnServer(address); got != want {
			t.Errorf("%q: %t", address, got)
		}
	}
	if err := (&DB{dialect: goose.DialectPostgres}).CopyTo(t.Context(), "x"); !errors.Is(err, ErrServer) {
		t.Errorf("got %v", err)
	}
}
