package database

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/pressly/goose/v3"
)

// ErrServer says that a database is on a server, whose own tools copy it.
var ErrServer = errors.New("the database is on a PostgreSQL server")

// OnServer says whether an address is one of a server, and not of a file. An address that is none is of no server.
func OnServer(address string) bool {
	opened, err := parse(address)
	return err == nil && opened.file == ""
}

// CopyTo writes the database as it is at one moment to a new file, readable for the caller alone, while others go on to use it. That is
// for databases in files; of one on a server it is [ErrServer].
func (db *DB) CopyTo(ctx context.Context, path string) error {
	if db.dialect != goose.DialectSQLite3 {
		return ErrServer
	}
	// SQLite writes into an empty file that is there, and would make one that others can read.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	if _, err := db.ExecContext(ctx, `VACUUM INTO $1`, path); err != nil {
		return errors.Join(fmt.Errorf("copy the database: %w", err), os.Remove(path))
	}
	return nil
}
