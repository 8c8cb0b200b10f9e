package access

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
)

// account is a row: a user or a service account.
type account struct {
	name               string
	kind               Kind
	displayName, email string
	admin, disabled    bool
	// epoch is that of the credentials that are good. Another one ends them all, those too that are being made.
	epoch             int64
	created, signedIn time.Time
	// password is a PHC string; empty is none.
	password string
	// provider is empty for local users.
	provider, issuer, subject string
	groups                    []string
	groupsAdmin               bool
	organization, role        string
}

const accountColumns = `a.name, a.kind, a.display_name, a.email, a.admin, a.disabled, a.epoch, a.created, a.signed_in,
	a.password, a.provider, a.issuer, a.subject, a.group_names, a.groups_admin, a.organization, a.role`

// fieldsOf are what accountColumns scan into; done reads what needs reading after that.
func fieldsOf(a *account) (into []any, done func() error) {
	var created, signedIn int64
	var groups string
	var subject sql.NullString
	into = []any{
		&a.name, &a.kind, &a.displayName, &a.email, &a.admin, &a.disabled, &a.epoch, &created, &signedIn,
		&a.password, &a.provider, &a.issuer, &subject, &groups, &a.groupsAdmin, &a.organization, &a.role,
	}
	return into, func() error {
		a.created, a.signedIn, a.subject = database.FromTime(created), database.FromTime(signedIn), subject.String
		if err := json.Unmarshal([]byte(groups), &a.groups); err != nil {
			return fmt.Errorf("read the groups of %s: %w", a.name, err)
		}
		return nil
	}
}

func findAccount(ctx context.Context, q querier, kind Kind, name string) (account, error) {
	return scanAccount(q.QueryRowContext(ctx,
		`SELECT `+accountColumns+` FROM access_accounts a WHERE a.name = $1 AND a.kind = $2`, name, kind))
}

func scanAccount(row interface{ Scan(into ...any) error }) (account, error) {
	var a account
	into, done := fieldsOf(&a)
	if err := row.Scan(into...); err != nil {
		return account{}, found(err)
	}
	return a, done()
}

// localUser returns a user whom no identity provider proves. Errors: ErrNotFound, ErrProviderUser.
func localUser(ctx context.Context, q querier, name string) (account, error) {
	a, err := findAccount(ctx, q, User, name)
	if err == nil && a.provider != "" {
		err = ErrProviderUser
	}
	return a, err
}

func (s *store) listAccounts(ctx context.Context, page Page, where string, args ...any) (List[account], error) {
	rows, err := s.db.QueryContext(ctx, `SELECT `+accountColumns+` FROM access_accounts a
		WHERE a.name > $1 AND `+where+` ORDER BY a.name LIMIT $2`, append([]any{page.After, page.limit() + 1}, args...)...)
	if err != nil {
		return List[account]{}, err
	}
	defer rows.Close()
	var out []account
	for rows.Next() {
		a, err := scanAccount(rows)
		if err != nil {
			return List[account]{}, err
		}
		out = append(out, a)
	}
	return cut(out, page, func(a account) string { return a.name }), rows.Err()
}

func insertAccount(ctx context.Context, q querier, a account) error {
	groups, err := json.Marshal(append([]string{}, a.groups...))
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, `INSERT INTO access_accounts (name, kind, display_name, email, admin, epoch, created,
		signed_in, password, provider, issuer, subject, group_names, groups_admin, organization, role)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		a.name, a.kind, a.displayName, a.email, a.admin, newEpoch(), database.Time(a.created), database.Time(a.signedIn),
		a.password, a.provider, a.issuer, sql.NullString{String: a.subject, Valid: a.subject != ""}, string(groups),
		a.groupsAdmin, a.organization, a.role)
	if database.Taken(err) {
		return ErrExists
	}
	return err
}

// endAll makes every credential of an account worthless, those too that another transaction is about to write.
func endAll(ctx context.Context, q querier, name string) error {
	if err := changed(q.ExecContext(ctx, `UPDATE access_accounts SET epoch = $2 WHERE name = $1`, name, newEpoch())); err != nil {
		return err
	}
	for _, table := range []string{
		`DELETE FROM access_credentials WHERE account = $1`,
		`DELETE FROM access_once WHERE account = $1`,
		`DELETE FROM access_devices WHERE account = $1`,
	} {
		if _, err := q.ExecContext(ctx, table, name); err != nil {
			return err
		}
	}
	return nil
}

// newEpoch is by chance, so that an account that is made again under the same name does not meet an old one.
func newEpoch() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // does not fail
	return int64(binary.BigEndian.Uint64(b[:]) >> 1)
}

func (s *store) setDisabled(ctx context.Context, kind Kind, name string, disabled bool) error {
	return s.changeAdmins(ctx, kind, name, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE access_accounts SET disabled = $2 WHERE name = $1`, name, disabled)
		if err != nil || !disabled {
			return err
		}
		return endAll(ctx, tx, name)
	})
}

func (s *store) deleteAccount(ctx context.Context, kind Kind, name string) error {
	return s.changeAdmins(ctx, kind, name, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM access_accounts WHERE name = $1`, name)
		return err
	})
}

// changeAdmins changes an account, and takes the change back when it left no administrator.
func (s *store) changeAdmins(ctx context.Context, kind Kind, name string, change func(tx *sql.Tx) error) error {
	return s.db.Do(ctx, "access/admins", func(tx *sql.Tx) error {
		was, err := findAccount(ctx, tx, kind, name)
		if err != nil {
			return err
		}
		if err := change(tx); err != nil {
			return err
		}
		if was.disabled || !was.administers() {
			return nil
		}
		var left int
		err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM access_accounts
			WHERE kind = $1 AND disabled = FALSE AND (admin = TRUE OR groups_admin = TRUE)`, User).Scan(&left)
		if err == nil && left == 0 {
			return ErrLastAdmin
		}
		return err
	})
}

func (a account) administers() bool { return a.admin || a.groupsAdmin }
