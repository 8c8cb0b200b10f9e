// Package access knows who a caller is: users, service accounts, their tokens and sessions, and the ways to sign in.
//
// It proves and names; what the caller may do is for others to decide. It keeps everything in SQL, so that what is
// revoked by one replica is refused by all at once, and keeps of secrets nothing but hashes. It knows neither an HTTP
// server nor Kubernetes. It hides tokens, hashes, lock-out and the protocols of signing in.
//
// There is one type for each subject: [Users], [ServiceAccounts], [Credentials], the ways to sign in ([Passwords],
// [Codes], [Devices], [Providers]), [Setup] and [Entries]. They are one package because they share the tables:
// disabling a user ends sessions, codes and devices in the same transaction, and only here may a credential be written.
//
// The packages of the REST API and its pages import it, each for the subjects that it serves, and the one that wires.
package access

import (
	"context"
	"embed"
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

// Service has the subjects, all on one database. They are safe for concurrent use, as are several services on one
// database.
type Service struct {
	Users           *Users
	ServiceAccounts *ServiceAccounts
	Credentials     *Credentials
	Passwords       *Passwords
	Codes           *Codes
	Devices         *Devices
	Providers       *Providers
	Setup           *Setup
	Entries         *Entries

	store *store
}

// Open is [New] and [Service.Migrate].
func Open(ctx context.Context, config Config) (*Service, error) {
	s, err := New(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := s.Migrate(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// New makes no call to the database, which need not be there yet. Nothing is to be asked of it before Migrate.
func New(ctx context.Context, config Config) (*Service, error) {
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
	return newService(config, passwords), nil
}

// Migrate brings the tables up to date.
func (s *Service) Migrate(ctx context.Context) error {
	return s.store.db.Migrate(ctx, "access", migrations)
}

func newService(config Config, checker checker) *Service {
	s := &store{db: config.DB, clock: config.Now, strangers: make(chan struct{}, 1)}
	locks, credentials := lockOut{s}, &Credentials{s, config}
	passwords := &Passwords{s, checker, locks, credentials}
	users := &Users{s, passwords}
	return &Service{
		Users: users, ServiceAccounts: &ServiceAccounts{s, credentials}, Credentials: credentials, Passwords: passwords,
		Codes: &Codes{s, credentials}, Devices: &Devices{s, locks, credentials},
		Providers: &Providers{s, oidc.NewClient(config.Now, config.ProviderDeadline), credentials},
		Setup:     &Setup{s, users}, Entries: &Entries{s}, store: s,
	}
}

// Sweep removes what has expired. Nothing that it removes would have been accepted any more.
func (s *Service) Sweep(ctx context.Context) error {
	now := database.Time(s.store.clock())
	for _, table := range []string{
		`DELETE FROM access_credentials WHERE expires <= $1 OR (idle > 0 AND last_used + idle <= $1)`,
		`DELETE FROM access_once WHERE expires <= $1`,
		`DELETE FROM access_devices WHERE expires <= $1`,
		`DELETE FROM access_entries WHERE until <= $1`,
	} {
		if _, err := s.store.db.ExecContext(ctx, table, now); err != nil {
			return fmt.Errorf("sweep what expired: %w", err)
		}
	}
	stale := database.Time(s.store.clock().Add(-knownFor))
	if _, err := s.store.db.ExecContext(ctx, `DELETE FROM access_known WHERE last <= $1`, stale); err != nil {
		return fmt.Errorf("sweep addresses of users: %w", err)
	}
	forgotten := database.Time(s.store.clock().Add(-guessMemory))
	if _, err := s.store.db.ExecContext(ctx, `DELETE FROM access_guesses WHERE last <= $1 AND until <= $2`, forgotten, now); err != nil {
		return fmt.Errorf("sweep failed attempts: %w", err)
	}
	return nil
}
