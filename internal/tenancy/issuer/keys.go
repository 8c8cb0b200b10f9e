package issuer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

const (
	// maxStored bounds what is decoded, in bytes. A key takes some 300.
	maxStored = 64 << 10
	// maxKeys is many more than there are at any time.
	maxKeys = 16
	// keyIDLength is the length of a key's id in random letters: 26 carry 130 bits.
	keyIDLength = 26
)

// ErrKeys says that stored keys cannot be read.
var ErrKeys = errors.New("read the keys of the issuer")

// key signs.
type key struct {
	life

	private *ecdsa.PrivateKey
}

// keySet is all keys that are published, in the order in which they sign. It is not changed after it was made.
type keySet []key

// String names the keys: a key set that is printed must not show them.
func (s keySet) String() string {
	var ids []string
	for _, k := range s {
		ids = append(ids, k.id)
	}
	return "issuer.keySet" + fmt.Sprint(ids)
}

// GoString is String, for %#v.
func (s keySet) GoString() string { return s.String() }

// storedKeys is the form in which keys are kept.
type storedKeys struct {
	Keys []storedKey `json:"keys"`
}

type storedKey struct {
	ID    string    `json:"id"`
	Signs time.Time `json:"signsFrom"`
	// Private is PKCS #8, DER.
	Private []byte `json:"private"`
}

func (s keySet) lives() []life {
	out := make([]life, 0, len(s))
	for _, k := range s {
		out = append(out, k.life)
	}
	return out
}

// renew follows the plan for a time. changed says whether there is anything to be written.
func (s keySet) renew(now time.Time) (next keySet, changed bool, err error) {
	c := plan(s.lives(), now)
	next = slices.DeleteFunc(slices.Clone(s), func(k key) bool { return slices.Contains(c.drop, k.id) })
	if c.add {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, false, fmt.Errorf("create a key of the issuer: %w", err)
		}
		// Whole seconds: what is read back is then what was written.
		next = append(next, key{life{id: rand.Text(), signs: c.signs.UTC().Truncate(time.Second)}, private})
	}
	return next, c.add || len(c.drop) > 0, nil
}

func (s keySet) encode() ([]byte, error) {
	var stored storedKeys
	for _, k := range s {
		der, err := x509.MarshalPKCS8PrivateKey(k.private)
		if err != nil {
			return nil, fmt.Errorf("encode key %s of the issuer: %w", k.id, err)
		}
		stored.Keys = append(stored.Keys, storedKey{ID: k.id, Signs: k.signs, Private: der})
	}
	return json.Marshal(stored)
}

// decode reads what encode wrote; nothing is no keys. Errors never repeat what they speak of.
func decode(data []byte) (keySet, error) {
	if len(data) == 0 {
		return nil, nil
	}
	broken := func(format string, args ...any) error {
		return fmt.Errorf("%w: %w; restore them from a backup, or remove them to begin with a new key", ErrKeys, fmt.Errorf(format, args...))
	}
	if len(data) > maxStored {
		return nil, broken("they are %d bytes long, at most %d are possible", len(data), maxStored)
	}
	var stored storedKeys
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, broken("they are not JSON of the right form") // the cause may quote a key
	}
	if len(stored.Keys) == 0 || len(stored.Keys) > maxKeys {
		return nil, broken("there are %d keys, want 1 to %d", len(stored.Keys), maxKeys)
	}
	var out keySet
	for i, k := range stored.Keys {
		private, err := parsePrivate(k.Private)
		if err != nil {
			return nil, broken("key %d: %w", i+1, err)
		}
		if len(k.ID) != keyIDLength {
			return nil, broken("key %d: its id has %d letters, want %d", i+1, len(k.ID), keyIDLength)
		}
		if i > 0 && !k.Signs.After(out[i-1].signs) {
			return nil, broken("key %d signs no later than the one before it", i+1)
		}
		if slices.ContainsFunc(out, func(other key) bool { return other.id == k.ID }) {
			return nil, broken("key %d has the id of another one", i+1)
		}
		out = append(out, key{life{id: k.ID, signs: k.Signs}, private})
	}
	return out, nil
}

func parsePrivate(der []byte) (*ecdsa.PrivateKey, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("it is not PKCS #8")
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return nil, errors.New("it is not of the curve P-256")
	}
	return private, nil
}

// public is what is published of the keys.
func (s keySet) public() jose.JSONWebKeySet {
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, k := range s {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.private.Public(), KeyID: k.id, Algorithm: string(jose.ES256), Use: "sig"})
	}
	return set
}
