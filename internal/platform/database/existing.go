package database

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
)

//go:embed migrations/*.sql
var ownMigrations embed.FS

// identityQuery reads the id without the tables of any owner.
const identityQuery = `SELECT id FROM database_identity WHERE one = 1`

// ErrAnother says that a database is not the one that is looked for.
var ErrAnother = errors.New("it is not the database that this installation has made")

// Identity returns the id of the database, which it gets with the first call, and which stays the same in a backup of it.
func (db *DB) Identity(ctx context.Context) (string, error) {
	if err := db.Migrate(ctx, "database", ownMigrations); err != nil {
		return "", err
	}
	var id string
	err := db.Do(ctx, "database", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO database_identity (one, id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`, rand.Text())
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, identityQuery).Scan(&id)
	})
	if err != nil {
		return "", fmt.Errorf("read which database it is: %w", err)
	}
	return id, nil
}

// OpenExisting is [Open] for a database that was there before: it makes none, and succeeds also while it cannot be had. As
// long as it is gone, damaged, or not the one with that id, each call fails with the reason, and as soon as the right one is
// back, calls succeed. An empty id takes any.
func OpenExisting(address, id string) (*DB, error) {
	opened, err := parse(address)
	if err != nil {
		return nil, err
	}
	if opened.file != "" {
		opened.query.Set("mode", "rw") // SQLite makes no file
	}
	inner, err := opened.connector()
	if err != nil {
		return nil, err
	}
	return opened.pool(sql.OpenDB(&guard{Connector: inner, file: opened.file, id: id})), nil
}

// guard refuses connections to what is not the database that is looked for.
type guard struct {
	driver.Connector

	// file is empty for a server.
	file, id string
}

// Connect implements [driver.Connector].
func (g *guard) Connect(ctx context.Context) (driver.Conn, error) {
	if g.file != "" {
		info, err := os.Stat(g.file)
		if err != nil {
			return nil, fmt.Errorf("look for the database: %w", err)
		}
		if info.Size() == 0 { // SQLite would take that for a new one
			return nil, fmt.Errorf("%s is empty: %w", g.file, ErrAnother)
		}
	}
	conn, err := g.Connector.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", withoutSource(err))
	}
	if g.id == "" {
		return conn, nil
	}
	found, err := identityOf(ctx, conn)
	if err == nil && found != g.id {
		err = ErrAnother
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// identityOf reads the id by one connection.
func identityOf(ctx context.Context, conn driver.Conn) (string, error) {
	asked, ok := conn.(driver.QueryerContext)
	if !ok {
		return "", fmt.Errorf("read which database it is: %T takes no queries", conn)
	}
	rows, err := asked.QueryContext(ctx, identityQuery, nil)
	if err != nil {
		return "", fmt.Errorf("read which database it is: %w", err)
	}
	values := make([]driver.Value, 1)
	err = rows.Next(values)
	if errors.Is(err, io.EOF) {
		err = ErrAnother
	}
	if err = errors.Join(err, rows.Close()); err != nil {
		return "", fmt.Errorf("read which database it is: %w", err)
	}
	if text, ok := values[0].([]byte); ok {
		return string(text), nil
	}
	return fmt.Sprint(values[0]), nil
}
