//go:build linux

package app

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/idempotency"
	"kqueen.io/kqueen/internal/server"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// databaseURL is the address of the SQL database.
func databaseURL(c Config) string {
	if c.Database != "" {
		return c.Database
	}
	return database.FileURL(filepath.Join(c.Dir, databaseFile))
}

// databaseName is the database's in the ledger: another address is another database. The address may hold a password.
func databaseName(c Config) string {
	if c.Database == "" || c.Database == database.FileURL(filepath.Join(c.Dir, databaseFile)) {
		return databaseFile
	}
	sum := sha256.Sum256([]byte(c.Database))
	return "database " + hex.EncodeToString(sum[:8])
}

// databaseID is the name of the database's id in the ledger.
const databaseID = "id"

// openDatabase makes the database at the first start and finds it later: one that is gone or damaged by then is not made
// again, because with it go the users, the tokens and the audit log.
func (d *apiServer) openDatabase(ctx context.Context, a *App) error {
	id := ledger{a}.Roots(databaseName(a.Config))[databaseID]
	var err error
	if id == "" && !hadDatabase(a.Config) {
		d.db, err = database.Open(ctx, databaseURL(a.Config))
	} else {
		d.existed = true
		d.db, err = database.OpenExisting(databaseURL(a.Config), id)
	}
	if err != nil {
		return err
	}
	opened := func() error {
		if d.access, err = access.New(ctx, access.Config{DB: d.db}); err != nil {
			return err
		}
		key, err := pki.SecretKey(filepath.Join(a.Dir, keysFolder, auditKeyFile), ledger{a})
		if err != nil {
			return fmt.Errorf("key of the audit log: %w", err)
		}
		if d.audit, err = audit.New(d.db, key); err != nil {
			return err
		}
		if key, err = replaceableKey(a, "answers"); err != nil {
			return fmt.Errorf("key of the answers: %w", err)
		}
		d.answers, err = idempotency.New(d.db, key)
		return err
	}
	if err := opened(); err != nil {
		return errors.Join(err, d.db.Close())
	}
	return nil
}

// hadDatabase says whether an installation of an earlier version, which did not note the id, has a database in the data
// directory. A file without content and no key of the audit log was left by a first start that was cut short.
func hadDatabase(c Config) bool {
	if databaseName(c) != databaseFile {
		return false
	}
	if info, err := os.Stat(filepath.Join(c.Dir, databaseFile)); err == nil && info.Size() > 0 {
		return true
	}
	_, err := os.Stat(filepath.Join(c.Dir, keysFolder, auditKeyFile))
	return err == nil
}

// migrate brings the tables up to date. A database that was there and cannot be had closes the API, and nothing else.
func (d *apiServer) migrate(ctx context.Context, a *App) error {
	err := d.prepare(ctx, a)
	if err == nil || !d.existed || ctx.Err() != nil {
		return err
	}
	where := databaseName(a.Config)
	if where == databaseFile {
		where = filepath.Join(a.Dir, databaseFile)
	}
	problem := fmt.Errorf("%s cannot be used (%w): users cannot sign in, and the REST API is closed, until it is there again; restore it from a backup where it is damaged. Clusters go on",
		where, err)
	if d.closed.Swap(&problem) == nil {
		d.log.Error("the REST API is closed", "error", problem)
	}
	a.problems.note("database", problem)
	return nil
}

// prepare brings the tables up to date and notes which database it is.
func (d *apiServer) prepare(ctx context.Context, a *App) error {
	id, err := d.db.Identity(ctx)
	for _, migrate := range []func(context.Context) error{d.access.Migrate, d.audit.Migrate, d.answers.Migrate} {
		if err == nil {
			err = migrate(ctx)
		}
	}
	if err != nil {
		return err
	}
	d.closed.Store(nil)
	a.problems.note("database", nil)
	return ledger{a}.Note(databaseName(a.Config), map[string]string{databaseID: id})
}

// mend looks again for a database that could not be had, and says what has become wrong with one that is used, and with the
// disk, until ctx ends.
func (d *apiServer) mend(ctx context.Context, a *App) {
	again := time.NewTicker(a.MendInterval)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		a.problems.note("disk", checkDir(a.Dir))
		if d.closed.Load() != nil {
			_ = d.migrate(ctx, a)
			continue
		}
		a.problems.note("database", d.writable(ctx))
	}
}

// writable says why nothing can be written to the database: who is signed in is known then, and what is done cannot be
// recorded.
func (d *apiServer) writable(ctx context.Context) error {
	if err := d.db.Do(ctx, "database", func(*sql.Tx) error { return nil }); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the database cannot be written (%w): calls that have to be recorded fail until it can; end the program that has it locked, if there is one. Clusters go on", err)
	}
	return nil
}

// whole answers nothing while the database cannot be had but by which keys API servers check credentials, and that it lives: who is
// signed in cannot be told then, and what is done could not be recorded.
func (d *apiServer) whole(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		closed := d.closed.Load()
		if closed == nil || strings.HasPrefix(r.URL.Path, server.IssuerPath+"/") || r.URL.Path == server.HealthPath || r.URL.Path == server.VersionPath {
			next.ServeHTTP(w, r)
			return
		}
		server.Unavailable(w, r, "KQueen's database cannot be used; the owner of its machine sees why with: kqueen status")
	})
}
