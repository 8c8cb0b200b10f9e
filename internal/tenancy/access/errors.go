package access

import (
	"errors"
	"fmt"
	"time"
)

// Errors by which callers decide. Others are about the database, or the caller's context.
var (
	// ErrUnauthenticated is the answer to everything that does not prove who the caller is, whatever the cause.
	ErrUnauthenticated = errors.New("not signed in, or the token or session has expired or was revoked")
	// ErrNotFound says that it does not exist, or that it belongs to another user.
	ErrNotFound = errors.New("not found")
	// ErrExists says that the name is taken.
	ErrExists = errors.New("the name is taken")
	// ErrSpent is the answer to a one-time token that was used, expired, was replaced or never was.
	ErrSpent = errors.New("the one-time token was used, has expired or was replaced; ask for a new one")
	// ErrSetUp says that there are users, so that no user can be the first any more.
	ErrSetUp = errors.New("KQueen has users already; an administrator adds others")
	// ErrLastAdmin says that no administrator would be left.
	ErrLastAdmin = errors.New("this is the last administrator who can sign in; appoint another one first")
	// ErrNeedsSession says that a credential cannot do what only a signed-in user may.
	ErrNeedsSession = errors.New("tokens cannot do this; sign in")
	// ErrNeedsFresh says that the user of a session proved who they are longer ago than FreshFor.
	ErrNeedsFresh = errors.New("you signed in too long ago for this; sign in again")
	// ErrNeedsMint says that a token lets no other caller in.
	ErrNeedsMint = errors.New("this token lets no other caller in; sign in, or use a token that may: kqueen token create NAME --mint")
	// ErrProviderUser says that the identity provider decides about this user's password and name.
	ErrProviderUser = errors.New("this user is proved by an identity provider, and has no password here")
	// ErrTooMany says that a bound was reached.
	ErrTooMany = errors.New("there are too many of these; remove some, or try again later")
)

// Answers of the token endpoint while a device is not approved (RFC 8628, section 3.5), and of the exchange of a code.
var (
	ErrAuthorizationPending = errors.New("authorization_pending")
	ErrSlowDown             = errors.New("slow_down")
	ErrExpiredToken         = errors.New("expired_token")
	ErrAccessDenied         = errors.New("access_denied")
	// ErrInvalidGrant (RFC 6749, section 5.2): the code is not good, whatever the cause.
	ErrInvalidGrant = errors.New("invalid_grant")
)

// LockedError says that attempts failed too often. It is the same for users who are there and who are not.
type LockedError struct {
	// Until is when the next attempt is looked at.
	Until time.Time
}

// Error says until when.
func (e *LockedError) Error() string {
	return fmt.Sprintf("too many attempts failed; the next one is looked at from %s on", e.Until.UTC().Format(time.RFC3339))
}
