// Package oidc authenticates users by an OpenID Connect provider: the authorization code flow with PKCE, as a client that
// keeps a secret.
//
// It keeps nothing between the two steps; the caller hands in what was kept. It hides discovery, keys and the checks of
// an ID token, and refuses with a reason that an administrator can act on. internal/tenancy/access imports it.
package oidc

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"

	"kqueen.io/kqueen/internal/tenancy/access/token"
)

// Provider is an identity provider, as an administrator describes it.
type Provider struct {
	// Name is the prefix of its users and groups: "corp" makes "corp:alice@example.com". An RFC 1123 label.
	Name, DisplayName string
	// Issuer is the https URL that its tokens name, to the character.
	Issuer   string
	ClientID string
	// ClientSecret is empty for a client that has none.
	ClientSecret token.Secret
	// CA is PEM: the only authorities that sign the issuer's certificates; empty means those that the system trusts.
	CA string
	// Scopes are asked for beside openid. Nil is profile and email.
	Scopes []string
	// UsernameClaim names the claim of the ID token that is the name; empty is sub.
	UsernameClaim string
	// GroupsClaim names the claim with the groups, a list of texts; empty is no groups. A token without it is refused.
	GroupsClaim string
	// AdminGroups are groups, without the prefix, whose members are platform administrators.
	AdminGroups []string
	// RedirectURL is where the provider sends browsers back to: our own callback.
	RedirectURL string
}

// User is the one who signed in, by the provider's word.
type User struct {
	// Subject is what the issuer knows the user by, for ever.
	Issuer, Subject string
	// Name and Groups are prefixed with the provider's name.
	Name   string
	Groups []string
	// Email is one that the provider verified, or empty.
	DisplayName, Email string
	// Admin says that a group is one of AdminGroups.
	Admin bool
	// Proved is when the provider asked who the user is, by its claim auth_time; zero when it does not say.
	Proved time.Time
}

// RefusedError says why the user was not signed in. It is for the platform's engineers, and repeats no secret.
type RefusedError struct {
	// Provider is its name.
	Provider string
	// Reason says what is wrong and with what.
	Reason string
}

// Error joins both.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("sign in with %s: %s", e.Provider, e.Reason)
}

func (p Provider) refuse(format string, args ...any) *RefusedError {
	return &RefusedError{Provider: p.Name, Reason: fmt.Sprintf(format, args...)}
}

var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// reserved would make users and groups of a provider look like others.
var reserved = []string{"sa", "kqueen"}

// Validate says what is wrong with a provider, by the names of its fields in camelCase.
func (p Provider) Validate() error {
	switch {
	case !label.MatchString(p.Name):
		return errors.New("name: it is not a name; want 1 to 63 lower-case letters, digits and '-', with a letter or digit at both ends")
	case slices.Contains(reserved, p.Name) || strings.HasPrefix(p.Name, "system"):
		return fmt.Errorf("name: %q is reserved; want another one", p.Name)
	case p.ClientID == "":
		return errors.New("clientID: it is empty; want the one that the provider gave")
	case len(p.AdminGroups) > 0 && p.GroupsClaim == "":
		return errors.New("groupsClaim: it is empty, so that no user is in adminGroups; want the claim with the groups")
	case slices.Contains(p.AdminGroups, ""):
		return errors.New("adminGroups: one is empty; want names of groups")
	}
	if err := checkHTTPS("issuer", p.Issuer); err != nil {
		return err
	}
	if err := checkHTTPS("redirectURL", p.RedirectURL); err != nil {
		return err
	}
	_, err := p.roots()
	return err
}

func checkHTTPS(field, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%s: it is no address that can be used; want https://HOST/PATH without a user, query or fragment", field)
	}
	return nil
}

// roots are nil for those of the system.
func (p Provider) roots() (*x509.CertPool, error) {
	if p.CA == "" {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(p.CA)) {
		return nil, errors.New("caBundle: there is no certificate in it; want PEM")
	}
	return pool, nil
}

func (p Provider) scopes() []string {
	scopes := p.Scopes
	if scopes == nil {
		scopes = []string{gooidc.ScopeProfile, gooidc.ScopeEmail}
	}
	out := []string{gooidc.ScopeOpenID}
	for _, scope := range scopes {
		if !slices.Contains(out, scope) {
			out = append(out, scope)
		}
	}
	return out
}
