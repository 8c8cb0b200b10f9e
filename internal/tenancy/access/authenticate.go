package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

// credential is a row.
type credential struct {
	id                         string
	kind                       token.Kind
	hash                       []byte
	epoch                      int64
	name                       string
	created, expires, lastUsed time.Time
	idle                       time.Duration
	// proved is when the user of a session proved who they are.
	proved time.Time
	scope  *Scope
	mint   bool
	// mintedBy is the token that made it.
	mintedBy string
}

const credentialColumns = //nolint:gosec // names of columns
`c.id, c.kind, c.hash, c.epoch, c.name, c.created, c.expires, c.last_used, c.idle,
	c.proved, c.organization, c.role, c.mint, c.minted_by`

// Authenticate says whose a session or token is. ErrUnauthenticated is the answer to all that is not good; another
// error says that the database could not tell. Nothing is remembered from one call to the next: what was revoked is
// refused.
func (s *Credentials) Authenticate(ctx context.Context, bearer string) (Identity, error) {
	parts, err := token.Parse(bearer)
	if err != nil {
		return Identity{}, ErrUnauthenticated
	}
	c, a, err := findCredential(ctx, s.db, parts.ID)
	if err != nil {
		return Identity{}, unauthenticated(err)
	}
	if !parts.Is(c.hash) || c.kind != parts.Kind || !s.good(c, a) {
		return Identity{}, ErrUnauthenticated
	}
	if c.mintedBy != "" {
		// It is good as long as the token that made it, also where that rests: its provider has not said of late that the user is there.
		if _, _, err := s.minter(ctx, s.db, c.mintedBy); err != nil {
			return Identity{}, err
		}
	}
	if now := s.clock(); now.Sub(c.lastUsed) >= usedAtMost {
		if _, err := s.db.ExecContext(ctx, `UPDATE access_credentials SET last_used = $2 WHERE id = $1 AND last_used < $2`,
			c.id, database.Time(now)); err != nil {
			return Identity{}, fmt.Errorf("write down the use of a credential: %w", err)
		}
	}
	id := identify(c, a)
	id.Fresh = s.fresh(c)
	return id, nil
}

// fresh says whether the user of a session proved who they are a short time ago.
func (s *Credentials) fresh(c credential) bool {
	return c.kind == token.Session && s.clock().Before(c.proved.Add(FreshFor))
}

// good says whether a credential whose secret is right proves its account now.
func (s *Credentials) good(c credential, a account) bool {
	return !a.disabled && s.alive(c, a) && s.trusted(a)
}

// alive says whether a credential is not over.
func (s *Credentials) alive(c credential, a account) bool {
	now := s.clock()
	return c.epoch == a.epoch && now.Before(c.expires) && (c.idle == 0 || now.Before(c.lastUsed.Add(c.idle)))
}

// trusted says whether what the provider said about a user is not too old. A user who was dismissed there does not sign
// in there any more, and the provider does not tell us.
func (s *Credentials) trusted(a account) bool {
	return a.provider == "" || s.clock().Before(a.signedIn.Add(s.config.ProviderTrust))
}

// identify says who the owner of a good credential is.
func identify(c credential, a account) Identity {
	id := Identity{
		Kind: a.kind, Name: a.name, DisplayName: a.displayName, Email: a.email, Groups: a.groups,
		OwnerAdmin: a.administers(), Scope: c.scope, Provider: a.provider, Issuer: a.issuer,
		Credential: Credential{Kind: credentialKind(c.kind), ID: c.id, Expires: c.expires, Mint: c.mint},
		Generation: a.epoch,
	}
	if a.kind == ServiceAccount {
		id.Scope = &Scope{Organization: a.organization, Role: a.role}
	}
	id.Admin = id.OwnerAdmin && id.Scope == nil
	return id
}

func findCredential(ctx context.Context, q querier, id string) (credential, account, error) {
	return scanCredential(q.QueryRowContext(ctx, `SELECT `+credentialColumns+`, `+accountColumns+`
		FROM access_credentials c JOIN access_accounts a ON a.name = c.account WHERE c.id = $1`, id))
}

func scanCredential(row interface{ Scan(into ...any) error }) (credential, account, error) {
	var c credential
	var a account
	var created, expires, lastUsed, idle, proved int64
	var scope Scope
	var mintedBy sql.NullString
	into, done := fieldsOf(&a)
	if err := row.Scan(append([]any{
		&c.id, &c.kind, &c.hash, &c.epoch, &c.name, &created, &expires, &lastUsed, &idle, &proved, &scope.Organization, &scope.Role,
		&c.mint, &mintedBy,
	}, into...)...); err != nil {
		return credential{}, account{}, found(err)
	}
	c.created, c.expires, c.lastUsed = database.FromTime(created), database.FromTime(expires), database.FromTime(lastUsed)
	c.mintedBy = mintedBy.String
	c.idle, c.proved = time.Duration(idle)*time.Microsecond, database.FromTime(proved)
	if scope != (Scope{}) {
		c.scope = &scope
	}
	return c, a, done()
}

func (c credential) info(a account) CredentialInfo {
	id := identify(c, a)
	info := CredentialInfo{
		Credential: id.Credential, Account: a.name, Name: c.name, Scope: id.Scope, MintedBy: c.mintedBy, Created: c.created, LastUsed: c.lastUsed,
	}
	if c.idle > 0 {
		info.IdleExpires = c.lastUsed.Add(c.idle)
	}
	return info
}

// unauthenticated turns "no such row" into the answer that says nothing.
func unauthenticated(err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrUnauthenticated
	}
	return err
}
