// Package database opens the SQL database in which KQueen keeps what is not
// desired state: accounts, the audit log, observations.
//
// SQLite in a file by default, PostgreSQL by one setting. It hides which of the
// two it is: what is written for it uses $1 for parameters, BIGINT, TEXT, BOOLEAN
// and BYTEA for columns, and microseconds since 1970 for times, which both take.
// A package that keeps something in it has migrations of its own, and uses no other
// package's tables.
package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"hash/fnv"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// connections is how many there are at once. SQLite has one writer whatever their number.
	connections = 8
	// busyTimeout is how long a writer waits for another one in SQLite.
	busyTimeout = 10 * time.Second
	// openTimeout bounds the first call to a server.
	openTimeout = 10 * time.Second
)

// DB is a database. It is safe for concurrent use.
type DB struct {
	*sql.DB
	dialect goose.Dialect
	// writing is held by the transaction that writes to SQLite, which has one writer: waiting here is in the order of asking,
	// where waiting in SQLite is by trying again, without an order, until busyTimeout.
	writing chan struct{}
	// migrating keeps migrations of one process apart: each of them needs two connections.
	migrating sync.Mutex
}

// Open opens sqlite:///PATH, whose file is made when it is not there, or postgres://USER:PASSWORD@HOST/NAME.
// Errors do not repeat the URL, which may hold a password.
func Open(ctx context.Context, address string) (*DB, error) {
	opened, err := parse(address)
	if err != nil {
		return nil, err
	}
	if opened.file != "" {
		if err := makeFile(opened.file); err != nil {
			return nil, err
		}
	}
	connector, err := opened.connector()
	if err != nil {
		return nil, err
	}
	db := opened.pool(sql.OpenDB(connector))
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database: %w", withoutSource(err)), db.Close())
	}
	return db, nil
}

// FileURL is the address of the SQLite database in a file.
func FileURL(path string) string { return (&url.URL{Scheme: "sqlite", Path: path}).String() }

// opening is what an address says.
type opening struct {
	dialect goose.Dialect
	// file and query are those of SQLite, server and source those of PostgreSQL.
	file   string
	query  url.Values
	server driver.DriverContext
	source string
}

// parse understands an address.
func parse(address string) (*opening, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("address of the database: it is no URL; want sqlite:///PATH or postgres://USER:PASSWORD@HOST/NAME")
	}
	switch u.Scheme {
	case "sqlite":
	case "postgres", "postgresql":
		server, ok := stdlib.GetDefaultDriver().(driver.DriverContext)
		if !ok {
			return nil, errors.New("open the database: the driver of PostgreSQL has no connectors")
		}
		return &opening{dialect: goose.DialectPostgres, server: server, source: address}, nil
	default:
		return nil, fmt.Errorf("address of the database: its scheme is %q; want sqlite:///PATH or postgres://USER:PASSWORD@HOST/NAME", u.Scheme)
	}
	if !filepath.IsAbs(u.Path) {
		return nil, fmt.Errorf("address of the database: the path %q is not absolute; want sqlite:///PATH", u.Path)
	}
	return &opening{dialect: goose.DialectSQLite3, file: u.Path, query: url.Values{
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)",
		},
		// A transaction that reads and then writes would fail when another one wrote in between.
		"_txlock": {"immediate"},
	}}, nil
}

// makeFile makes the file of a SQLite database, which SQLite would make readable for others.
func makeFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	return nil
}

// connector makes connections, none of them yet.
func (o *opening) connector() (driver.Connector, error) {
	if o.file == "" {
		return o.server.OpenConnector(o.source)
	}
	connector, err := sqlite.NewConnector((&url.URL{Scheme: "file", Path: o.file, RawQuery: o.query.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return connector, nil
}

func (o *opening) pool(db *sql.DB) *DB {
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return &DB{DB: db, dialect: o.dialect, writing: make(chan struct{}, 1)}
}

// withoutSource takes out what pgx repeats of the address: a password may be in it.
func withoutSource(err error) error {
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		return errors.New("its address is not what PostgreSQL takes; want postgres://USER:PASSWORD@HOST/NAME")
	}
	return err
}

// Do calls act in a transaction, which is committed when act returns nil. Acts that name the same lock follow
// each other, over all replicas; with an empty lock nothing waits in PostgreSQL, and in SQLite for another writer.
func (db *DB) Do(ctx context.Context, lock string, act func(tx *sql.Tx) error) (err error) {
	if db.dialect == goose.DialectSQLite3 {
		select {
		case db.writing <- struct{}{}:
			defer func() { <-db.writing }()
		case <-ctx.Done():
			return fmt.Errorf("wait for another writer: %w", context.Cause(ctx))
		}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	defer func() {
		// After a commit there is nothing to roll back; when act panics there is, or its locks would stay.
		if rolled := tx.Rollback(); !errors.Is(rolled, sql.ErrTxDone) {
			err = errors.Join(err, rolled)
		}
	}()
	if lock != "" && db.dialect == goose.DialectPostgres {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", lockKey(lock)); err != nil {
			return fmt.Errorf("lock %s: %w", lock, err)
		}
	}
	if err := act(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// lockKey is a name as PostgreSQL's advisory locks take it.
func lockKey(name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("kqueen/" + name))
	return int64(h.Sum64())
}

// Time is a time as it is kept: microseconds since 1970. The zero time is 0.
func Time(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// FromTime is the inverse of [Time], in UTC.
func FromTime(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// Taken says whether a write failed because a row of that key, or another unique value, is there already.
func Taken(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23505"
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	return false
}
