// Package access knows who a caller is: users, service accounts, their tokens and sessions, and the ways to sign in.
//
// It proves and names; what the caller may do is for others to decide. It keeps everything in SQL, so that what is revoked
// by one replica is refused by all at once, and keeps of secrets nothing but hashes. It knows neither an HTTP server
// nor Kubernetes. It hides tokens, hashes, lock-out and the protocols of signing in; the API server enters, and the command that
// administers users.
package access

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/tenancy/access/oidc"
	"kqueen.io/kqueen/internal/tenancy/access/password"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Config says how long things last. A zero duration is its default.
type Config struct {
	DB *database.DB
	// Now is time.Now when it is nil.
	Now func() time.Time
	// PasswordCost is that of hashes made from now on; zero is password.DefaultCost.
	PasswordCost password.Cost
	// SessionLifetime is how long a session lasts at most, SessionIdle how long without use. 24 h and 8 h.
	SessionLifetime, SessionIdle time.Duration
	// TokenLifetime is how far away the expiry of a token may be. 365 days, which is the most that is taken.
	TokenLifetime time.Duration
	// ProviderTrust is how long a provider's word about a user and the groups is believed: so long after the last
	// sign-in there the user's credentials are refused. 30 days.
	ProviderTrust time.Duration
	// ProviderDeadline bounds each call to an issuer. 10 s.
	ProviderDeadline time.Duration
}

const day = 24 * time.Hour

// Service is the one that knows. It is safe for concurrent use, as are several on one database.
type Service struct {
	Config

	passwords checker
	issuers   *oidc.Client
	// strangers is held by what writes for callers who are not signed in.
	strangers chan struct{}
}

// checker is a password.Checker; tests count what it is asked.
type checker interface {
	Hash(ctx context.Context, password string) (string, error)
	Check(ctx context.Context, hash, password string) (good, stale bool, err error)
}

// Open brings the tables up to date.
func Open(ctx context.Context, config Config) (*Service, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		usual time.Duration
		most  time.Duration
	}{
		{"session lifetime", &config.SessionLifetime, 24 * time.Hour, 30 * day},
		{"session idle time", &config.SessionIdle, 8 * time.Hour, 30 * day},
		{"token lifetime", &config.TokenLifetime, 365 * day, 365 * day},
		{"provider trust", &config.ProviderTrust, 30 * day, 365 * day},
		{"provider deadline", &config.ProviderDeadline, 10 * time.Second, time.Minute},
	} {
		if *d.value == 0 {
			*d.value = d.usual
		}
		if *d.value < 0 || *d.value > d.most {
			return nil, fmt.Errorf("%s: %s is too much or less than nothing; want up to %s", d.name, *d.value, d.most)
		}
	}
	passwords, err := password.NewChecker(ctx, config.PasswordCost)
	if err != nil {
		return nil, err
	}
	if err := config.DB.Migrate(ctx, "access", migrations); err != nil {
		return nil, err
	}
	return &Service{
		Config: config, passwords: passwords, issuers: oidc.NewClient(config.Now, config.ProviderDeadline),
		strangers: make(chan struct{}, 1),
	}, nil
}

// doForStranger does what database.DB.Do does, for callers of whom nothing is known: one at a time, so that a flood of
// them waits here and leaves the connections of the database to others.
func (s *Service) doForStranger(ctx context.Context, lock string, act func(tx *sql.Tx) error) error {
	select {
	case s.strangers <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for others who are not signed in: %w", ctx.Err())
	}
	defer func() { <-s.strangers }()
	return s.DB.Do(ctx, lock, act)
}

// Sweep removes what is over. Nothing that it removes would have been good for anything.
func (s *Service) Sweep(ctx context.Context) error {
	now := database.Time(s.Now())
	for _, table := range []string{
		`DELETE FROM access_credentials WHERE expires <= $1 OR (idle > 0 AND last_used + idle <= $1)`,
		`DELETE FROM access_once WHERE expires <= $1`,
		`DELETE FROM access_devices WHERE expires <= $1`,
		`DELETE FROM access_entries WHERE until <= $1`,
	} {
		if _, err := s.DB.ExecContext(ctx, table, now); err != nil {
			return fmt.Errorf("sweep what expired: %w", err)
		}
	}
	forgotten := database.Time(s.Now().Add(-guessMemory))
	if _, err := s.DB.ExecContext(ctx, `DELETE FROM access_guesses WHERE last <= $1 AND until <= $2`, forgotten, now); err != nil {
		return fmt.Errorf("sweep failed attempts: %w", err)
	}
	return nil
}

// changed says whether a statement changed a row; ErrNotFound when it did not.
func changed(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrNotFound
	}
	return nil
}

// found turns the driver's word for no row into ours.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}
