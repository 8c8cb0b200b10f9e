package database_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

// TestIdentity: a database has one id, for every replica and after every start, and no other has it.
func TestIdentity(t *testing.T) {
	seen := map[string]bool{}
	databasetest.EachAddress(t, func(t *testing.T, address string) {
		id, err := databasetest.Open(t, address).Identity(t.Context())
		if err != nil || id == "" || seen[id] {
			t.Fatalf("got %q, %v", id, err)
		}
		seen[id] = true
		for _, known := range []string{id, ""} {
			again, err := database.OpenExisting(address, known)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := again.Identity(t.Context()); err != nil || got != id {
				t.Errorf("got %q, %v, want %q again", got, err, id)
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		}
		another, err := database.OpenExisting(address, "another")
		if err != nil {
			t.Fatal(err)
		}
		defer another.Close()
		if err := another.PingContext(t.Context()); !errors.Is(err, database.ErrAnother) {
			t.Errorf("a database with another id: got %v", err)
		}
	})
}

// TestExistingIsNotMade: a database that is gone, damaged or another one is neither made nor changed, each call says why, and
// calls succeed as soon as the right one is back.
func TestExistingIsNotMade(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made.db")
	first, err := database.Open(t.Context(), database.FileURL(made))
	if err != nil {
		t.Fatal(err)
	}
	id, err := first.Identity(t.Context())
	if err := errors.Join(err, first.Close()); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(file string) error{
		"Missing":   func(string) error { return nil },
		"Empty":     func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"Truncated": func(file string) error { return os.WriteFile(file, good[:len(good)/2], 0o600) },
		"Garbage":   func(file string) error { return os.WriteFile(file, []byte(strings.Repeat("garbage ", 1000)), 0o600) },
		"Directory": func(file string) error { return os.Mkdir(file, 0o700) },
		"Another": func(file string) error {
			db, err := database.Open(t.Context(), database.FileURL(file))
			if err != nil {
				return err
			}
			_, err = db.Identity(t.Context())
			return errors.Join(err, db.Close())
		},
		"Tableless": func(file string) error {
			db, err := database.Open(t.Context(), database.FileURL(file))
			if err != nil {
				return err
			}
			_, err = db.ExecContext(t.Context(), "CREATE TABLE other (id TEXT)")
			return errors.Join(err, db.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "kqueen.db")
			if err := damage(file); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(file)
			db, err := database.OpenExisting(database.FileURL(file), id)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for range 2 {
				if got, err := db.Identity(t.Context()); err == nil {
					t.Errorf("got %q, want an error", got)
				}
			}
			if after, _ := os.ReadFile(file); !bytes.Equal(after, before) {
				t.Error("the file was changed")
			}
			for _, suffix := range []string{"", "-wal", "-shm"} {
				if err := os.RemoveAll(file + suffix); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(file, good, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := db.Identity(t.Context()); err != nil || got != id {
				t.Errorf("with the right one back: got %q, %v", got, err)
			}
		})
	}
}
