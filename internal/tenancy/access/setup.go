package access

import (
	"context"
	"database/sql"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// Setup makes an administrator where none can sign in.
type Setup struct {
	*store
	users *Users
}

// Token makes the token that lets one call of MakeAdmin make the first administrator. It is good for an hour, and those
// made before are good no more. Errors: ErrSetUp when there is a user.
func (s *Setup) Token(ctx context.Context) (OneTime, error) {
	return s.newToken(ctx, once{purpose: setUp})
}

// RecoveryToken makes a token like that of Token when there are users, too: for the owner of the installation, when
// none of its administrators can sign in any more.
func (s *Setup) RecoveryToken(ctx context.Context) (OneTime, error) {
	return s.newToken(ctx, once{purpose: setUp, data: again})
}

func (s *Setup) newToken(ctx context.Context, o once) (OneTime, error) {
	var out OneTime
	err := s.db.Do(ctx, "access/setup", func(tx *sql.Tx) error {
		if err := o.maySetUp(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM access_once WHERE purpose = $1`, setUp); err != nil {
			return err
		}
		var err error
		out, err = s.makeOnce(ctx, tx, o, setUpLife)
		return err
	})
	return out, err
}

// MakeAdmin makes an administrator: the first one, or another with a RecoveryToken. Errors: ErrSpent, ErrSetUp, and
// ErrExists and *invalid.Error, after which the token is still good.
func (s *Setup) MakeAdmin(ctx context.Context, text string, admin NewUser) (UserInfo, error) {
	// A look first: a caller without a token does not make us hash.
	o, err := s.findOnce(ctx, s.db, setUp, text)
	if err != nil {
		return UserInfo{}, err
	}
	if admin.Password == "" {
		return UserInfo{}, invalid.Want("password", "it is empty", "one that only you know")
	}
	admin.Admin = true
	a, err := s.users.newAccount(ctx, admin)
	if err != nil {
		return UserInfo{}, err
	}
	err = s.db.Do(ctx, "access/setup", func(tx *sql.Tx) error {
		if err := o.use(ctx, tx); err != nil {
			return err
		}
		if err := o.maySetUp(ctx, tx); err != nil {
			return err
		}
		return insertAccount(ctx, tx, a)
	})
	if err != nil {
		return UserInfo{}, err
	}
	return a.user(), nil
}

// maySetUp refuses a second administrator to a token that is for the first one.
func (o once) maySetUp(ctx context.Context, tx *sql.Tx) error {
	if o.data == again {
		return nil
	}
	var users int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM access_accounts WHERE kind = $1`, User).Scan(&users)
	if err == nil && users > 0 {
		return ErrSetUp
	}
	return err
}
