package issuer

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// ErrRefused says that a token is none of ours, is for another cluster, or has expired. It does not say which: who holds the token
// is told no more.
var ErrRefused = errors.New("the token is refused")

// Verify returns what a token says, if this issuer has signed it for the audience and it has not expired: what the API servers of
// hosted clusters do by the keys that are published, for clusters that trust no issuer of KQueen's. Claims have no lifetime; the time
// is when the token expires. The error is [ErrRefused].
func (i *Issuer) Verify(token, audience string) (Claims, time.Time, error) {
	keys := i.keys.Load()
	if keys == nil {
		return Claims{}, time.Time{}, fmt.Errorf("verify a token: the issuer has no keys yet: %w", ErrRefused)
	}
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil || len(signed.Signatures) != 1 {
		return Claims{}, time.Time{}, ErrRefused
	}
	data, err := keys.verified(signed)
	if err != nil {
		return Claims{}, time.Time{}, err
	}
	said := payload{}
	now := i.now().Unix()
	if json.Unmarshal(data, &said) != nil || said.Issuer != i.url || said.Audience != audience || now >= said.Expires || now < said.NotBefore {
		return Claims{}, time.Time{}, ErrRefused
	}
	return Claims{
		Subject: said.Subject, UID: said.UID, Groups: said.Groups, Audience: said.Audience, ID: said.ID, Credential: said.Credential,
	}, time.Unix(said.Expires, 0).UTC(), nil
}

// verified returns what one of the keys has signed.
func (s keySet) verified(signed *jose.JSONWebSignature) ([]byte, error) {
	for _, k := range s {
		if k.id == signed.Signatures[0].Header.KeyID {
			data, err := signed.Verify(&k.private.PublicKey)
			if err != nil {
				return nil, ErrRefused
			}
			return data, nil
		}
	}
	return nil, ErrRefused
}
