package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

// CredentialInfo is a session or a token, as it is listed.
type CredentialInfo struct {
	Credential

	// Account is whose it is.
	Account string
	// Name is what its owner calls a token, and the client of a session.
	Name  string
	Scope *Scope
	// MintedBy is the token that made it, with which it ends; empty when a user did.
	MintedBy string
	// LastUsed is exact to a minute; zero is never. IdleExpires is when a session ends that is not used; zero is never.
	Created, LastUsed, IdleExpires time.Time
}

// Issued is a new credential.
type Issued struct {
	CredentialInfo

	// Token is the secret. It is shown here and never again.
	Token token.Secret
}

// NewToken is a token to be made.
type NewToken struct {
	// Name says what it is for. It need not be unique.
	Name    string
	Expires time.Time
	// Scope narrows it; nil is everything that its owner may. The tokens of a service account have its scope.
	Scope *Scope
	// Mint says that the token makes others, none of which outlives it or may more, and names members. A token makes none that does.
	Mint bool
	// By is the token that makes this one, and with which it ends; empty when a user does.
	By string
	// proved is when the user of a session proved who they are; zero for tokens.
	proved time.Time
}

const (
	maxTokenName = 100 // characters
	// maxTokens of one account. Beyond it none is made: something makes them in a loop.
	maxTokens = 1000
	// maxSessions of one account. A new one ends the oldest beyond it: no user is kept from signing in.
	maxSessions = 100
	// usedAtMost is how often the last use is written down.
	usedAtMost = time.Minute
)

// Credentials are the sessions and tokens of all accounts: they are made, looked at and ended here, and nowhere else.
type Credentials struct {
	*store
	config Config
}

// CreateToken creates an API token of the calling user. It takes a session whose user signed in a short time ago, so that what a
// thief has makes no others, or a token that mints, which bounds what it makes. Errors: ErrNeedsSession, ErrNeedsFresh,
// ErrNeedsMint, ErrUnauthenticated, *invalid.Error, ErrTooMany.
func (s *Credentials) CreateToken(ctx context.Context, by Identity, wanted NewToken) (Issued, error) {
	if err := s.checkToken(wanted); err != nil {
		return Issued{}, err
	}
	wanted.By = ""
	if by.Credential.Kind == Token {
		wanted.By = by.Credential.ID
	}
	var out Issued
	err := s.db.Do(ctx, "", func(tx *sql.Tx) error {
		a, err := s.maker(ctx, tx, by)
		if err != nil {
			return err
		}
		out, err = s.issue(ctx, tx, token.API, a, wanted, 0)
		return err
	})
	if err != nil {
		return Issued{}, fmt.Errorf("create a token: %w", err)
	}
	return out, nil
}

func (s *Credentials) checkToken(wanted NewToken) error {
	if wanted.Name == "" {
		return invalid.Want("name", "it is empty", "what the token is for")
	}
	if err := checkText("name", wanted.Name, maxTokenName); err != nil {
		return err
	}
	now := s.clock()
	if latest := now.Add(s.config.TokenLifetime); !wanted.Expires.After(now) || wanted.Expires.After(latest) {
		return invalid.Want(
			"expiresAt", "it is missing, over or too far away",
			"a time up to "+latest.UTC().Format(time.RFC3339),
		)
	}
	return wanted.Scope.check()
}

// signedIn returns the account of a user who signed in and whose session is still good, and the session. A caller who comes with less is
// refused: what is made from here has the rights of the whole account.
func (s *Credentials) signedIn(ctx context.Context, tx *sql.Tx, by Identity) (account, credential, error) {
	if by.Kind != User || by.Scope != nil || by.Credential.Kind != Session {
		return account{}, credential{}, ErrNeedsSession
	}
	c, a, err := findCredential(ctx, tx, by.Credential.ID)
	if err != nil {
		return account{}, credential{}, unauthenticated(err)
	}
	if c.kind != token.Session || a.name != by.Name || !s.good(c, a) {
		return account{}, credential{}, ErrUnauthenticated
	}
	return a, c, nil
}

// owner returns the user whose a one-time token is, when it may still be used: not disabled, and not changed since.
func (s *Credentials) owner(ctx context.Context, q querier, name string, epoch int64) (account, error) {
	a, err := findAccount(ctx, q, User, name)
	if errors.Is(err, ErrNotFound) || err == nil && (a.disabled || a.epoch != epoch || !s.trusted(a)) {
		return account{}, ErrSpent
	}
	return a, err
}

// issue writes down a new credential. idle is how long it lives without use; 0 is as long as it lives at all.
func (s *Credentials) issue(
	ctx context.Context, tx *sql.Tx, kind token.Kind, a account, wanted NewToken, idle time.Duration,
) (Issued, error) {
	if err := s.bound(ctx, tx, a, wanted); err != nil {
		return Issued{}, err
	}
	if err := s.makeRoom(ctx, tx, kind, a.name); err != nil {
		return Issued{}, err
	}
	made := token.New(kind, s.clock())
	c := credential{
		id: made.ID, kind: kind, hash: made.Hash(), epoch: a.epoch, name: wanted.Name, created: s.now(),
		expires: database.FromTime(database.Time(wanted.Expires)), idle: idle, scope: wanted.Scope,
		proved: wanted.proved, mint: wanted.Mint, mintedBy: wanted.By,
	}
	if kind == token.Session {
		c.lastUsed = c.created // signing in is a use
	}
	var scope Scope
	if c.scope != nil {
		scope = *c.scope
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO access_credentials
		(id, kind, hash, account, epoch, name, created, expires, idle, last_used, organization, role, proved, mint, minted_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		c.id, c.kind, c.hash, a.name, c.epoch, c.name, database.Time(c.created), database.Time(c.expires),
		c.idle.Microseconds(), database.Time(c.lastUsed), scope.Organization, scope.Role, database.Time(c.proved),
		c.mint, sql.NullString{String: c.mintedBy, Valid: c.mintedBy != ""})
	if err != nil {
		return Issued{}, fmt.Errorf("write it down: %w", err)
	}
	return Issued{CredentialInfo: c.info(a), Token: made.Text()}, nil
}

// makeRoom bounds what one account has.
func (s *Credentials) makeRoom(ctx context.Context, tx *sql.Tx, kind token.Kind, accountName string) error {
	if kind == token.Session {
		_, err := tx.ExecContext(ctx, `DELETE FROM access_credentials WHERE id IN (
			SELECT id FROM access_credentials WHERE account = $1 AND kind = $2 ORDER BY id DESC LIMIT 1000000 OFFSET $3)`,
			accountName, kind, maxSessions-1)
		return err
	}
	var held int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM access_credentials WHERE account = $1 AND kind = $2 AND expires > $3`,
		accountName, kind, database.Time(s.clock())).Scan(&held)
	if err == nil && held >= maxTokens {
		err = fmt.Errorf("%s has %d tokens: %w", accountName, held, ErrTooMany)
	}
	return err
}

// issueSession makes a session of a user, who proved who they are at that time. client is the name of the client that
// signed in.
func (s *Credentials) issueSession(ctx context.Context, tx *sql.Tx, a account, client string, proved time.Time) (Issued, error) {
	now := s.clock()
	return s.issue(ctx, tx, token.Session, a, NewToken{
		Name: text.CutLetters(text.Line(client), maxTokenName), Expires: now.Add(s.config.SessionLifetime), proved: proved,
	}, s.config.SessionIdle)
}

// List returns the good sessions or tokens of an account, the oldest first; both when kind is empty.
func (s *Credentials) List(
	ctx context.Context, accountName string, kind CredentialKind, page Page,
) (List[CredentialInfo], error) {
	rows, err := s.db.QueryContext(ctx, `SELECT `+credentialColumns+`, `+accountColumns+`
		FROM access_credentials c JOIN access_accounts a ON a.name = c.account
		WHERE c.account = $1 AND c.id > $2 AND c.epoch = a.epoch AND c.expires > $3
		AND (c.idle = 0 OR c.last_used + c.idle > $3)
		AND (c.kind = $4 AND $5 <> 'token' OR c.kind <> $4 AND $5 <> 'session') ORDER BY c.id LIMIT $6`,
		accountName, page.After, database.Time(s.clock()), token.Session, string(kind), page.limit()+1)
	if err != nil {
		return List[CredentialInfo]{}, fmt.Errorf("list credentials: %w", err)
	}
	defer rows.Close()
	var out []CredentialInfo
	for rows.Next() {
		c, a, err := scanCredential(rows)
		if err != nil {
			return List[CredentialInfo]{}, fmt.Errorf("list credentials: %w", err)
		}
		out = append(out, c.info(a))
	}
	return cut(out, page, func(c CredentialInfo) string { return c.ID }), rows.Err()
}

// Get returns a good session or token of an account. Errors: ErrNotFound, also when it is another account's or good no more.
func (s *Credentials) Get(ctx context.Context, accountName, id string) (CredentialInfo, error) {
	c, a, err := findCredential(ctx, s.db, id)
	if err == nil && (a.name != accountName || !s.alive(c, a)) {
		err = ErrNotFound
	}
	if err != nil {
		return CredentialInfo{}, err
	}
	return c.info(a), nil
}

// Revoke ends a session or token of an account at once. Errors: ErrNotFound, also when it is another account's.
func (s *Credentials) Revoke(ctx context.Context, accountName, id string) error {
	return changed(s.db.ExecContext(ctx, `DELETE FROM access_credentials WHERE id = $1 AND account = $2`, id, accountName))
}

// RevokeAll ends all sessions and tokens of a user or service account at once. Errors: ErrNotFound.
func (s *Credentials) RevokeAll(ctx context.Context, accountName string) error {
	return s.db.Do(ctx, "", func(tx *sql.Tx) error { return endAll(ctx, tx, accountName) })
}
