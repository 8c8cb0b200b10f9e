package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/tenancy/access/password"
)

// Origin is where an attempt comes from.
type Origin struct {
	// Address is the caller's; the zero value counts for no address.
	Address netip.Addr
	// Client is what the caller says it is, such as "Firefox" or "kqueen 1.2 on build-7". Sessions are listed with it.
	Client string
}

// Passwords are those of local users: to sign in with, to change, and to choose again. Wrong ones lock out.
type Passwords struct {
	*store
	checker     checker
	lockOut     lockOut
	credentials *Credentials
}

// checker is a password.Checker; tests count what it is asked.
type checker interface {
	Hash(ctx context.Context, password string) (string, error)
	Check(ctx context.Context, hash, password string) (good, stale bool, err error)
}

// SignIn makes a session of a local user. Errors: ErrUnauthenticated, the same for a wrong password and for a user who
// is not there, is disabled, has no password or is of a provider; *LockedError.
func (s *Passwords) SignIn(ctx context.Context, name, text string, from Origin) (Issued, error) {
	a, stale, err := s.prove(ctx, name, text, from)
	if err != nil {
		return Issued{}, err
	}
	hash := a.password
	if stale {
		if hash, err = s.checker.Hash(ctx, text); err != nil {
			return Issued{}, err
		}
	}
	var out Issued
	err = s.db.Do(ctx, "", func(tx *sql.Tx) error {
		// The epoch is another one when the account was changed while the password was looked at.
		if err := changed(tx.ExecContext(ctx, `UPDATE access_accounts SET signed_in = $3, password = $4
			WHERE name = $1 AND epoch = $2`, a.name, a.epoch, database.Time(s.clock()), hash)); err != nil {
			return unauthenticated(err)
		}
		if err := remember(ctx, tx, a.name, sourceOf(from.Address), s.clock()); err != nil {
			return err
		}
		out, err = s.credentials.issueSession(ctx, tx, a, from.Client, s.now())
		return err
	})
	if err != nil {
		return Issued{}, err
	}
	return out, nil
}

// prove returns the local user of that name and password. stale asks for a new hash of the password.
func (s *Passwords) prove(ctx context.Context, name, text string, from Origin) (a account, stale bool, err error) {
	tries, err := s.lockOut.try(ctx, func(tx *sql.Tx, now time.Time) ([]guess, error) {
		return passwordGuesses(ctx, tx, now, name, from.Address)
	})
	if err != nil {
		return account{}, false, err
	}
	a, err = localUser(ctx, s.db, name)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrProviderUser) {
		return account{}, false, errors.Join(err, s.lockOut.untried(ctx, tries))
	}
	hash := a.password
	if err != nil || a.disabled {
		hash = ""
	}
	if password.TooLong(text) {
		hash, text = "", ""
	}
	good, stale, err := s.checker.Check(ctx, hash, text)
	if err != nil {
		return account{}, false, errors.Join(err, s.lockOut.untried(ctx, tries))
	}
	if !good {
		return account{}, false, ErrUnauthenticated
	}
	return a, stale, s.lockOut.succeeded(ctx, tries)
}

// Change lets a local user choose another password. It takes the old one, and ends all sessions and tokens of the user,
// that of the caller too. Errors: ErrUnauthenticated (the old one is wrong), *LockedError, *invalid.Error.
func (s *Passwords) Change(ctx context.Context, name, old, text string, from Origin) error {
	a, _, err := s.prove(ctx, name, old, from)
	if err != nil {
		return err
	}
	if old == text {
		return invalid.Want("password", "it is the one that you have", "another one")
	}
	hash, err := s.hash(ctx, a, text)
	if err != nil {
		return err
	}
	err = s.db.Do(ctx, "", func(tx *sql.Tx) error { return writePassword(ctx, tx, a, hash) })
	return unauthenticated(err)
}

// writePassword puts a hash into an account that was not changed since it was read, ends its credentials, and forgets
// the failed attempts: they were at another password.
func writePassword(ctx context.Context, tx *sql.Tx, a account, hash string) error {
	if err := changed(tx.ExecContext(ctx, `UPDATE access_accounts SET password = $3 WHERE name = $1 AND epoch = $2`,
		a.name, a.epoch, hash)); err != nil {
		return fmt.Errorf("write down the password: %w", err)
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM access_guesses WHERE target = $1 OR target LIKE $2`,
		guessTarget("account", a.name), guessTarget("user", a.name)+"@%")
	if err != nil {
		return fmt.Errorf("forget failed attempts: %w", err)
	}
	return endAll(ctx, tx, a.name)
}

// Reset creates a token with which a local user chooses a password, within a day; earlier ones are revoked. The present
// password stays valid until the user has chosen. Errors: ErrNotFound (also when disabled), ErrProviderUser.
func (s *Passwords) Reset(ctx context.Context, name string) (OneTime, error) {
	var out OneTime
	err := s.db.Do(ctx, "access/reset/"+name, func(tx *sql.Tx) error {
		a, err := localUser(ctx, tx, name)
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

// Choose sets the password of the user for whom Reset made the token, and ends all sessions and tokens of the user.
// Errors: ErrSpent, *invalid.Error, after which the token is still good.
func (s *Passwords) Choose(ctx context.Context, text, newPassword string) error {
	o, err := s.findOnce(ctx, s.db, choosePass, text)
	if err != nil {
		return err
	}
	a, err := s.credentials.owner(ctx, s.db, o.account, o.epoch)
	if err != nil {
		return err
	}
	hash, err := s.hash(ctx, a, newPassword)
	if err != nil {
		return err
	}
	return s.db.Do(ctx, "", func(tx *sql.Tx) error {
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

// hash makes the hash of a new password of an account when the rule takes it.
func (s *Passwords) hash(ctx context.Context, a account, text string) (string, error) {
	if problem := password.Rule(text, a.name, a.displayName, a.email); problem != "" {
		return "", invalid.New("password", "it %s", problem)
	}
	return s.checker.Hash(ctx, text)
}
