package access

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/tenancy/access/oidc"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

// ProviderStart is how the browser goes to an identity provider.
type ProviderStart struct {
	// URL is where to send it.
	URL string
	// Cookie is a secret that the browser keeps until it comes back; no other browser can finish.
	Cookie  token.Secret
	Expires time.Time
}

// attempt is what is kept of a sign-in at a provider.
type attempt struct {
	Provider string `json:"provider"`
	Issuer   string `json:"issuer"`
	// Cookie is a hash.
	Cookie string `json:"cookie"`
	Next   string `json:"next"`
	Client string `json:"client"`
}

const attemptLife = 10 * time.Minute

// askAgain is how long ago the provider may have asked who the user is, when the user goes on to what takes a fresh session:
// however long the attempt takes, that is fresh afterwards.
const askAgain = FreshFor - attemptLife

var pendingAttempts = pendingRows{
	expired: `DELETE FROM access_once WHERE expires <= $1 AND purpose = 'provider'`,
	count:   `SELECT COUNT(*), COUNT(CASE WHEN source = $1 THEN 1 END) FROM access_once WHERE purpose = 'provider'`,
	oldest: `DELETE FROM access_once WHERE id IN (
		SELECT id FROM access_once WHERE purpose = 'provider' ORDER BY id LIMIT $1)`,
}

// Providers signs in users whom identity providers prove.
type Providers struct {
	*store
	issuers     *oidc.Client
	credentials *Credentials
}

// Begin begins to sign in a user at an identity provider. next is the path to go to afterwards; it does not leave this
// server. Errors: *oidc.RefusedError, *invalid.Error, ErrTooMany.
func (s *Providers) Begin(ctx context.Context, p oidc.Provider, next string, from Origin) (ProviderStart, error) {
	if err := p.Validate(); err != nil {
		return ProviderStart{}, err
	}
	if err := checkNext(next); err != nil {
		return ProviderStart{}, err
	}
	cookie := token.New(token.OneTime, s.clock())
	data, err := json.Marshal(attempt{
		Provider: p.Name, Issuer: p.Issuer, Cookie: hex.EncodeToString(cookie.Hash()), Next: next,
		Client: text.CutLetters(text.Line(from.Client), maxTokenName),
	})
	if err != nil {
		return ProviderStart{}, err
	}
	var state OneTime
	source := sourceOf(from.Address)
	err = s.doForStranger(ctx, "access/attempts", func(tx *sql.Tx) error {
		if err := s.makePlace(ctx, tx, pendingAttempts, source); err != nil {
			return err
		}
		state, err = s.makeOnce(ctx, tx, once{purpose: finishSigning, source: source, data: string(data)}, attemptLife)
		return err
	})
	if err != nil {
		return ProviderStart{}, fmt.Errorf("begin to sign in with %s: %w", p.Name, err)
	}
	var maxAge time.Duration
	if next != "" {
		maxAge = askAgain
	}
	url, err := s.issuers.Begin(ctx, p, secretsOf(state.Token.Reveal(), cookie.Text().Reveal()), maxAge)
	if err != nil {
		return ProviderStart{}, err
	}
	return ProviderStart{URL: url, Cookie: cookie.Text(), Expires: state.Expires}, nil
}

// secretsOf makes nonce and verifier of what the browser alone has, so that nothing that is kept lets its reader finish.
func secretsOf(state, cookie string) oidc.Secrets {
	derive := func(what string) string {
		mac := hmac.New(sha256.New, []byte(cookie))
		mac.Write([]byte(what + " " + state))
		return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	return oidc.Secrets{State: state, Nonce: derive("nonce"), Verifier: derive("verifier")}
}

// Finish makes a session of the user whom the provider proved, and returns the path that Begin was given. find returns
// the provider of a name. What begins in one browser is finished there, and once. Errors: *oidc.RefusedError, which is
// for logs; its user need not know more than that it did not work.
func (s *Providers) Finish(
	ctx context.Context, find func(ctx context.Context, name string) (oidc.Provider, error), cookie string,
	callback oidc.Callback,
) (issued Issued, next string, err error) {
	begun, err := s.comeBack(ctx, cookie, callback.State)
	if err != nil {
		return Issued{}, "", err
	}
	p, err := find(ctx, begun.Provider)
	if err != nil {
		return Issued{}, "", fmt.Errorf("sign in with %s: %w", begun.Provider, err)
	}
	if p.Name != begun.Provider || p.Issuer != begun.Issuer {
		return Issued{}, "", &oidc.RefusedError{Provider: begun.Provider, Reason: "it was changed in the meantime; start again"}
	}
	user, err := s.issuers.Finish(ctx, p, callback, secretsOf(callback.State, cookie))
	if err != nil {
		return Issued{}, "", err
	}
	proved := provedAt(user, s.now())
	if begun.Next != "" && !s.now().Before(proved.Add(FreshFor)) {
		return Issued{}, "", &oidc.RefusedError{Provider: p.Name, Reason: fmt.Sprintf(
			"it was asked for a user who signed in within the last %s (max_age), and says that this one did at %s (auth_time); have it ask its users again",
			askAgain, proved.UTC().Format(time.RFC3339))}
	}
	err = s.db.Do(ctx, "access/provider/"+p.Name, func(tx *sql.Tx) error {
		a, err := s.meet(ctx, tx, p, user)
		if err != nil {
			return err
		}
		issued, err = s.credentials.issueSession(ctx, tx, a, begun.Client, proved)
		return err
	})
	if err != nil {
		return Issued{}, "", err
	}
	return issued, begun.Next, nil
}

// provedAt is when a user proved who they are: when the provider asked, or now where it does not say. It is pure.
func provedAt(user oidc.User, now time.Time) time.Time {
	if user.Proved.IsZero() || user.Proved.After(now) {
		return now
	}
	return user.Proved
}

// comeBack uses an attempt up. Another browser than the one that began does not spoil it.
func (s *Providers) comeBack(ctx context.Context, cookie, state string) (attempt, error) {
	refused := &oidc.RefusedError{
		Provider: "a provider",
		Reason:   "this sign-in was not started in this browser within the last 10 minutes, or was used; start again",
	}
	o, err := s.findOnce(ctx, s.db, finishSigning, state)
	if errors.Is(err, ErrSpent) {
		return attempt{}, refused
	}
	if err != nil {
		return attempt{}, err
	}
	var begun attempt
	if err := json.Unmarshal([]byte(o.data), &begun); err != nil {
		return attempt{}, fmt.Errorf("read an attempt to sign in: %w", err)
	}
	parts, err := token.Parse(cookie)
	if err != nil || subtle.ConstantTimeCompare([]byte(hex.EncodeToString(parts.Hash())), []byte(begun.Cookie)) != 1 {
		return attempt{}, refused
	}
	err = s.db.Do(ctx, "", func(tx *sql.Tx) error { return o.use(ctx, tx) })
	if errors.Is(err, ErrSpent) {
		return attempt{}, refused
	}
	return begun, err
}

// meet returns the account of a user whom a provider authenticated, and creates or updates it. A user is the issuer's
// subject; a name that the provider gave to another user does not come with the rights of the one before.
func (s *Providers) meet(ctx context.Context, tx *sql.Tx, p oidc.Provider, user oidc.User) (account, error) {
	refuse := func(format string, args ...any) (account, error) {
		return account{}, &oidc.RefusedError{Provider: p.Name, Reason: fmt.Sprintf(format, args...)}
	}
	a, err := scanAccount(tx.QueryRowContext(ctx, `SELECT `+accountColumns+` FROM access_accounts a
		WHERE a.issuer = $1 AND a.provider = $2 AND a.subject = $3`, user.Issuer, p.Name, user.Subject))
	switch {
	case errors.Is(err, ErrNotFound):
		a = account{
			name: user.Name, kind: User, created: s.now(), provider: p.Name, issuer: user.Issuer, subject: user.Subject,
		}
		if err := insertAccount(ctx, tx, a); errors.Is(err, ErrExists) {
			return refuse("the name %s belongs to another subject of the provider; delete that user when it is the same person", user.Name)
		} else if err != nil {
			return account{}, err
		}
	case err != nil:
		return account{}, err
	case a.name != user.Name:
		return refuse("the subject of %s is known as %s; delete that user to let the new name in", user.Name, a.name)
	case a.disabled:
		return refuse("the user %s is disabled", a.name)
	}
	groups, err := json.Marshal(append([]string{}, user.Groups...))
	if err != nil {
		return account{}, err
	}
	if err := changed(tx.ExecContext(ctx, `UPDATE access_accounts SET display_name = $2, email = $3, group_names = $4,
		groups_admin = $5, signed_in = $6 WHERE name = $1 AND disabled = FALSE`,
		a.name, user.DisplayName, user.Email, string(groups), user.Admin, database.Time(s.clock()))); err != nil {
		return account{}, err
	}
	return findAccount(ctx, tx, User, a.name)
}

// checkNext takes a path on this server. What begins with two slashes is another one, and browsers read '\' as '/'.
func checkNext(next string) error {
	if next == "" {
		return nil
	}
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.Contains(next, `\`) ||
		len(next) > 1000 || strings.ContainsFunc(next, unprintable) {
		return invalid.Want("next", "it is not a path on this server", "/PATH")
	}
	return nil
}
