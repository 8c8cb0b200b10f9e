package access

import (
	"slices"
	"time"

	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

// Kind is what a caller is.
type Kind string

// The kinds of callers.
const (
	User           Kind = "user"
	ServiceAccount Kind = "serviceAccount"
)

// Identity is who makes a request, proved.
type Identity struct {
	Kind Kind
	// Name is unique: "alice" for a local user, "corp:alice@example.com" for one of the provider corp, and
	// "sa:payments:ci" for the service account ci of the organization payments.
	Name               string
	DisplayName, Email string
	// Groups are those that the identity provider named at the last sign-in, as "corp:payments-devs". Local users and
	// service accounts have none.
	Groups []string
	// Admin says that this is a platform administrator. It is false for whatever has a scope.
	Admin bool
	// Scope is what a token or a service account is narrowed to; nil is everything that the account may.
	Scope *Scope
	// OwnerAdmin says that the account is a platform administrator's. With a scope it is what the scope narrows.
	OwnerAdmin bool
	// Provider is the identity provider that proved a user, and Issuer its issuer at the last sign-in; both empty for
	// local users and service accounts.
	Provider, Issuer string
	Credential       Credential
	// Fresh says that the user of this session proved who they are within FreshFor. A session that was made from another
	// one is as old as that one; what is no session is not fresh.
	Fresh bool
	// Generation is another one after all credentials of the account were ended, and for an account that was created
	// again under the same name.
	Generation int64
}

// FreshFor is how long after users proved who they are, by password or at the provider, they may make what others sign in
// with, or they themselves later: a session that is stolen afterwards makes nothing that outlives it.
const FreshFor = 15 * time.Minute

// Scope is a role in one organization. What a token may is the lesser of it and of what its owner may.
type Scope struct {
	Organization string
	// Role is owner, operator, developer or viewer.
	Role string
}

// CredentialKind is how the caller proved it.
type CredentialKind string

// The kinds of credentials.
const (
	// Session is what signing in made.
	Session CredentialKind = "session"
	// Token is an API token or one of a service account.
	Token CredentialKind = "token"
)

// Credential names what the caller proved it with, for logs and to revoke it.
type Credential struct {
	Kind CredentialKind
	// ID is public.
	ID      string
	Expires time.Time
	// Mint says that it is a token that makes others, bounded by itself, and names members.
	Mint bool
}

// roles are those that a scope may name, the highest first.
var roles = []string{"owner", "operator", "developer", "viewer"}

func checkRole(role string) error {
	if !slices.Contains(roles, role) {
		return invalid.Want("role", "it is not one of those that there are", "owner, operator, developer or viewer")
	}
	return nil
}

func (s *Scope) check() error {
	if s == nil {
		return nil
	}
	if err := checkLabel("organization", s.Organization); err != nil {
		return err
	}
	return checkRole(s.Role)
}

func credentialKind(kind token.Kind) CredentialKind {
	if kind == token.Session {
		return Session
	}
	return Token
}
