package access

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// maker returns the user who makes a token: one whose session is fresh, or who left it to a token that mints. Errors:
// ErrNeedsSession, ErrNeedsFresh, ErrNeedsMint, ErrUnauthenticated.
func (s *Credentials) maker(ctx context.Context, tx *sql.Tx, by Identity) (account, error) {
	if by.Kind == User && by.Credential.Kind == Token {
		_, a, err := s.minter(ctx, tx, by.Credential.ID)
		if err == nil && a.name != by.Name {
			err = ErrUnauthenticated
		}
		return a, err
	}
	a, c, err := s.signedIn(ctx, tx, by)
	if err == nil && !s.fresh(c) {
		err = ErrNeedsFresh
	}
	return a, err
}

// minter returns a token that makes others, and whose it is. Errors: ErrNeedsMint, ErrUnauthenticated.
func (s *Credentials) minter(ctx context.Context, q querier, id string) (credential, account, error) {
	c, a, err := findCredential(ctx, q, id)
	switch {
	case err != nil:
		err = unauthenticated(err)
	case !s.good(c, a):
		err = ErrUnauthenticated
	case !c.mint:
		err = ErrNeedsMint
	}
	return c, a, err
}

// bound refuses a token of an account that would outlive the token which makes it, or may more.
func (s *Credentials) bound(ctx context.Context, tx *sql.Tx, a account, wanted NewToken) error {
	if wanted.By == "" {
		return nil
	}
	by, owner, err := s.minter(ctx, tx, wanted.By)
	if err != nil {
		return err
	}
	if wanted.Mint {
		return ErrNeedsSession
	}
	if database.FromTime(database.Time(wanted.Expires)).After(by.expires) {
		return invalid.Want("expiresAt", "it is after the token ends that makes it", "a time up to "+by.expires.UTC().Format(time.RFC3339))
	}
	scope := wanted.Scope
	if a.kind == ServiceAccount {
		scope = &Scope{a.organization, a.role}
	}
	if have := identify(by, owner).Scope; !have.covers(scope) {
		return invalid.Want("scope", "it reaches further than the token that makes it", have.Role+" or less in the organization "+have.Organization)
	}
	return nil
}

// covers says whether what has this scope may all that what has the other one may. It is pure.
func (s *Scope) covers(other *Scope) bool {
	if s == nil {
		return true
	}
	return other != nil && other.Organization == s.Organization && slices.Index(roles, other.Role) >= slices.Index(roles, s.Role)
}
