package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// Migrate brings the tables of one owner up to date. The folder "migrations" of what the owner embeds holds files
// NUMBER_WORDS.sql in goose's notation, or folders "sqlite" and "postgres" with such files where one text does not do for
// both; one that was released once is never changed. Several replicas may migrate at once.
func (db *DB) Migrate(ctx context.Context, owner string, embedded fs.FS) error {
	db.migrating.Lock()
	defer db.migrating.Unlock()
	migrations, err := db.migrations(embedded)
	if err != nil {
		return fmt.Errorf("read the migrations of %s: %w", owner, err)
	}
	provider, err := goose.NewProvider(db.dialect, db.DB, migrations,
		goose.WithTableName(owner+"_migrations"), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations of %s: %w", owner, err)
	}
	if db.dialect == goose.DialectPostgres {
		err = db.alone(ctx, owner, func() error { return up(ctx, provider) })
	} else {
		err = upBesideOthers(ctx, provider)
	}
	if err != nil {
		return fmt.Errorf("migrate the tables of %s: %w", owner, err)
	}
	return nil
}

// migrations are those for the database that this is.
func (db *DB) migrations(embedded fs.FS) (fs.FS, error) {
	const all = "migrations"
	own := all + "/sqlite"
	if db.dialect == goose.DialectPostgres {
		own = all + "/postgres"
	}
	if _, err := fs.Stat(embedded, own); errors.Is(err, fs.ErrNotExist) {
		return fs.Sub(embedded, all)
	} else if err != nil {
		return nil, err
	}
	return fs.Sub(embedded, own)
}

func up(ctx context.Context, provider *goose.Provider) error {
	_, err := provider.Up(ctx)
	return err
}

// upBesideOthers migrates where nothing keeps other processes out. Each migration is one transaction: of two that
// apply the same one the second fails, and finds that it is done when it looks again.
func upBesideOthers(ctx context.Context, provider *goose.Provider) error {
	for before := int64(-1); ; {
		err := up(ctx, provider)
		if err == nil {
			return nil
		}
		now, versionErr := provider.GetDBVersion(ctx)
		if versionErr != nil || now == before {
			return errors.Join(err, versionErr)
		}
		before = now
	}
}

// alone calls do while no other replica is in it.
func (db *DB) alone(ctx context.Context, owner string, do func() error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	key := lockKey(owner)
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", key); err != nil {
		return err
	}
	defer func() {
		_, unlocked := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", key)
		err = errors.Join(err, unlocked)
	}()
	return do()
}
