package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kqueen.io/kqueen/internal/platform/database"
)

// measured is the database that is measured.
type measured struct {
	*database.DB

	name string
	// settle writes down what waits to be, and returns how large the database is.
	settle func(context.Context) (int64, error)
	close  func() error
}

// openMeasured opens a database; without an address a file in a temporary folder, which is removed in the end.
func openMeasured(ctx context.Context, address string) (*measured, error) {
	if path, ok := strings.CutPrefix(address, "sqlite://"); ok {
		return openFile(ctx, path, func() error { return nil })
	}
	if address != "" {
		db, err := database.Open(ctx, address)
		if err != nil {
			return nil, err
		}
		return &measured{DB: db, name: "PostgreSQL", close: db.Close, settle: func(ctx context.Context) (size int64, err error) {
			// As autovacuum has done by then in an installation.
			if _, err := db.ExecContext(ctx, "VACUUM (ANALYZE)"); err != nil {
				return 0, fmt.Errorf("vacuum: %w", err)
			}
			err = db.QueryRowContext(ctx, "SELECT pg_database_size(current_database())").Scan(&size)
			return size, err
		}}, nil
	}
	dir, err := os.MkdirTemp("", "kqueen-bench-")
	if err != nil {
		return nil, err
	}
	m, err := openFile(ctx, filepath.Join(dir, "inventory.db"), func() error { return os.RemoveAll(dir) })
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return m, nil
}

// openFile opens a file of SQLite, and removes it in the end.
func openFile(ctx context.Context, file string, remove func() error) (*measured, error) {
	db, err := database.Open(ctx, database.FileURL(file))
	if err != nil {
		return nil, err
	}
	settle := func(ctx context.Context) (int64, error) {
		if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return 0, fmt.Errorf("write the log into the file: %w", err)
		}
		info, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	return &measured{DB: db, name: "SQLite", settle: settle, close: func() error { return errors.Join(db.Close(), remove()) }}, nil
}
