package issuer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	jose "github.com/go-jose/go-jose/v4"
)

// Lifetimes of tokens. Those who check them refuse more than MaxLifetime whatever the signature says.
const (
	MinLifetime     = 10 * time.Minute
	DefaultLifetime = time.Hour
	MaxLifetime     = 24 * time.Hour
)

// skew is how far the clock of a server that checks a token may be behind.
const skew = time.Minute

const (
	maxName   = 253 // letters of a subject, a group, an id
	maxGroups = 64
)

// Claims is what a token says.
type Claims struct {
	// Subject is who it is for, without any prefix: "alice@example.com".
	Subject string
	// UID tells two subjects apart that had one name, one after the other. It may be empty.
	UID string
	// Groups of the subject, without any prefix: "view". Their order means nothing.
	Groups []string
	// Audience is the one cluster that takes the token.
	Audience string
	// Lifetime is from MinLifetime to MaxLifetime; zero is DefaultLifetime.
	Lifetime time.Duration
	// ID names the token in the logs of both sides. No two tokens may share one.
	ID string
	// Credential is the id of what the subject came with; the cluster refuses the token when that has ended. It may be
	// empty.
	Credential string
}

// payload are the claims as they are signed. The names are those of RFC 7519, and "groups" as everywhere.
type payload struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  string   `json:"aud"`
	IssuedAt  int64    `json:"iat"` // seconds since 1970
	NotBefore int64    `json:"nbf"`
	Expires   int64    `json:"exp"`
	ID        string   `json:"jti"`
	UID       string   `json:"uid,omitempty"`
	Groups    []string `json:"groups"`
	// Credential is a claim of ours.
	Credential string `json:"cid,omitempty"`
}

// Sign returns a token, as it follows "Authorization: Bearer", and when it expires. The error names every claim that is wrong.
func (i *Issuer) Sign(c Claims) (string, time.Time, error) {
	if c.Lifetime == 0 {
		c.Lifetime = DefaultLifetime
	}
	if err := c.check(); err != nil {
		return "", time.Time{}, fmt.Errorf("sign a token: %w", err)
	}
	keys := i.keys.Load()
	if keys == nil {
		return "", time.Time{}, errors.New("sign a token: the issuer has no keys yet")
	}
	now := i.now().UTC().Truncate(time.Second)
	expiry := now.Add(c.Lifetime)
	groups := slices.Compact(slices.Sorted(slices.Values(c.Groups)))
	if groups == nil {
		groups = []string{}
	}
	data, err := json.Marshal(payload{
		Issuer: i.url, Subject: c.Subject, Audience: c.Audience, ID: c.ID, UID: c.UID, Groups: groups, Credential: c.Credential,
		IssuedAt: now.Unix(), NotBefore: now.Add(-skew).Unix(), Expires: expiry.Unix(),
	})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign a token: %w", err)
	}
	token, err := (*keys)[signing(keys.lives(), now)].sign(data)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign a token: %w", err)
	}
	return token, expiry, nil
}

func (k key) sign(data []byte) (string, error) {
	options := (&jose.SignerOptions{}).WithType("JWT")
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: k.private, KeyID: k.id}}, options)
	if err != nil {
		return "", err
	}
	signature, err := signer.Sign(data)
	if err != nil {
		return "", err
	}
	return signature.CompactSerialize()
}

func (c Claims) check() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, claim := range []struct {
		name, value string
		optional    bool
	}{{"subject", c.Subject, false}, {"uid", c.UID, true}, {"audience", c.Audience, false}, {"id", c.ID, false}, {"credential", c.Credential, true}} {
		if claim.value == "" && claim.optional {
			continue
		}
		if err := checkName(claim.value); err != nil {
			add("%s: %w", claim.name, err)
		}
	}
	if len(c.Groups) > maxGroups {
		add("groups: there are %d, at most %d are taken", len(c.Groups), maxGroups)
	}
	for i, group := range c.Groups {
		if err := checkName(group); err != nil {
			add("groups[%d]: %w", i, err)
		}
	}
	if c.Lifetime < MinLifetime || c.Lifetime > MaxLifetime {
		add("lifetime: %s: must be from %s to %s", c.Lifetime, MinLifetime, MaxLifetime)
	}
	return errors.Join(problems...)
}

// checkName refuses what would be read otherwise somewhere. "system:" is the prefix of Kubernetes' own users and groups.
func checkName(name string) error {
	switch {
	case name == "" || len(name) > maxName:
		return fmt.Errorf("%d bytes long: must be 1 to %d", len(name), maxName)
	case strings.ContainsFunc(name, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }):
		return fmt.Errorf("%q: must be of printable letters", name)
	case strings.HasPrefix(name, "system:"):
		return fmt.Errorf("%q: names that begin with system: are Kubernetes' own", name)
	}
	return nil
}
