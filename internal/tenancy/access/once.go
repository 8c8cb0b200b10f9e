package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

// purpose is the one act that a one-time token is good for.
type purpose string

const (
	setUp          purpose = "setUp"        // make the first administrator
	choosePass     purpose = "password"     // choose a password
	exchangeCode   purpose = "code"         // get a session for an authorization code
	finishSigning  purpose = "provider"     // come back from an identity provider
	setUpLife              = time.Hour      // of the token that setUp takes
	choosePassLife         = 24 * time.Hour // long enough for a message to be read
)

// again marks a token of setUp that is good when there are users, too.
const again = "again"

// once is a row: something that is good for one act.
type once struct {
	id      string
	purpose purpose
	// account whose it is, and its epoch then; empty when it has no account.
	account string
	epoch   int64
	// source is where it was asked for, when every caller may ask.
	source  string
	data    string
	expires time.Time
}

// OneTime is a new one-time token.
type OneTime struct {
	// Token is the secret. It is shown here and never again.
	Token   token.Secret
	Expires time.Time
}

// makeOnce writes down a one-time token.
func (s *Service) makeOnce(ctx context.Context, tx *sql.Tx, o once, lifetime time.Duration) (OneTime, error) {
	made := token.New(token.OneTime, s.Now())
	expires := s.now().Add(lifetime)
	_, err := tx.ExecContext(ctx, `INSERT INTO access_once (id, purpose, hash, account, epoch, source, data, expires)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		made.ID, o.purpose, made.Hash(), sql.NullString{String: o.account, Valid: o.account != ""}, o.epoch, o.source,
		o.data, database.Time(expires))
	if err != nil {
		return OneTime{}, fmt.Errorf("write down a one-time token: %w", err)
	}
	return OneTime{Token: made.Text(), Expires: expires}, nil
}

// findOnce reads what a one-time token is for, and uses nothing up: who knows only its id cannot spoil it, and who is
// told that something else was wrong can try again. Errors: ErrSpent.
func (s *Service) findOnce(ctx context.Context, q querier, want purpose, text string) (once, error) {
	parts, err := token.Parse(text)
	if err != nil || parts.Kind != token.OneTime {
		return once{}, ErrSpent
	}
	o := once{id: parts.ID, purpose: want}
	var hash []byte
	var name sql.NullString
	var expires int64
	err = q.QueryRowContext(ctx, `SELECT hash, account, epoch, source, data, expires FROM access_once
		WHERE id = $1 AND purpose = $2`, parts.ID, want).Scan(&hash, &name, &o.epoch, &o.source, &o.data, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return once{}, ErrSpent
	}
	if err != nil {
		return once{}, err
	}
	o.account, o.expires = name.String, database.FromTime(expires)
	if !parts.Is(hash) || !s.Now().Before(o.expires) {
		return once{}, ErrSpent
	}
	return o, nil
}

// use uses a one-time token up. Of many at once one succeeds, and others get ErrSpent.
func (o once) use(ctx context.Context, tx *sql.Tx) error {
	err := changed(tx.ExecContext(ctx, `DELETE FROM access_once WHERE id = $1`, o.id))
	if errors.Is(err, ErrNotFound) {
		return ErrSpent
	}
	return err
}

// owner returns the user whose a one-time token is, when it may still be used: not disabled, and not changed since.
func (s *Service) owner(ctx context.Context, q querier, name string, epoch int64) (account, error) {
	a, err := findAccount(ctx, q, User, name)
	if errors.Is(err, ErrNotFound) || err == nil && (a.disabled || a.epoch != epoch || !s.trusted(a)) {
		return account{}, ErrSpent
	}
	return a, err
}

// SetupToken makes the token that lets one call of SetUp make the first administrator. It is good for an hour, and
// those made before are good no more. Errors: ErrSetUp when there is a user.
func (s *Service) SetupToken(ctx context.Context) (OneTime, error) {
	return s.newSetup(ctx, once{purpose: setUp})
}

// RecoveryToken makes a token like that of SetupToken when there are users, too: for the owner of the installation, when
// none of its administrators can sign in any more.
func (s *Service) RecoveryToken(ctx context.Context) (OneTime, error) {
	return s.newSetup(ctx, once{purpose: setUp, data: again})
}

func (s *Service) newSetup(ctx context.Context, o once) (OneTime, error) {
	var out OneTime
	err := s.DB.Do(ctx, "access/setup", func(tx *sql.Tx) error {
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

// SetUp makes an administrator: the first one, or another with a RecoveryToken. Errors: ErrSpent, ErrSetUp, and ErrExists
// and *invalid.Error, after which the token is still good.
func (s *Service) SetUp(ctx context.Context, text string, admin NewUser) (UserInfo, error) {
	// A look first: a caller without a token does not make us hash.
	o, err := s.findOnce(ctx, s.DB, setUp, text)
	if err != nil {
		return UserInfo{}, err
	}
	if admin.Password == "" {
		return UserInfo{}, invalid.Want("password", "it is empty", "one that only you know")
	}
	admin.Admin = true
	a, err := s.newAccount(ctx, admin)
	if err != nil {
		return UserInfo{}, err
	}
	err = s.DB.Do(ctx, "access/setup", func(tx *sql.Tx) error {
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

// ResetPassword makes a token with which a local user chooses a password, within a day; those made before are good no
// more. The password that there is stays good until then. Errors: ErrNotFound (also when disabled), ErrProviderUser.
func (s *Service) ResetPassword(ctx context.Context, name string) (OneTime, error) {
	var out OneTime
	err := s.DB.Do(ctx, "access/reset/"+name, func(tx *sql.Tx) error {
		a, err := s.localUser(ctx, tx, name)
		if err == nil && a.disabled {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM access_once WHERE purpose = $1 AND account = $2`, choosePass, name); err != nil {
			return err
		}
		out, err = s.makeOnce(ctx, tx, once{purpose: choosePass, account: name, epoch: a.epoch}, choosePassLife)
		return err
	})
	return out, err
}

// ChoosePassword sets the password of the user for whom ResetPassword made the token, ends all sessions and tokens of
// the user. Errors: ErrSpent, *invalid.Error, after which the token is still good.
func (s *Service) ChoosePassword(ctx context.Context, text, newPassword string) error {
	o, err := s.findOnce(ctx, s.DB, choosePass, text)
	if err != nil {
		return err
	}
	a, err := s.owner(ctx, s.DB, o.account, o.epoch)
	if err != nil {
		return err
	}
	hash, err := s.hash(ctx, a, newPassword)
	if err != nil {
		return err
	}
	return s.DB.Do(ctx, "", func(tx *sql.Tx) error {
		if err := o.use(ctx, tx); err != nil {
			return err
		}
		err := writePassword(ctx, tx, a, hash)
		if errors.Is(err, ErrNotFound) {
			return ErrSpent
		}
		return err
	})
}
