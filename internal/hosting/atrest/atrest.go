// Package atrest reads and writes what API servers have encrypted in a data store, by the keys of their control plane and without
// asking them.
//
// It hides the format, which is upstream's of secretbox, and how the keys are named in the Secret of a control plane. The reconciler of
// ControlPlane keeps the keys; a backup takes them along, and a restore as a new cluster encrypts with others what it writes.
package atrest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/secretbox"

	"kqueen.io/kqueen/internal/hosting/pki"
)

const (
	// Key is the entry, in a control plane's Secret, of the key that encrypts its Secrets at rest.
	Key = "encryption.key"
	// Name is the entry of the name of that key.
	Name = "encryption.name"
	// Length of a key in bytes, what secretbox takes.
	Length = 32
	// Next is before the entries of a key that takes the place of the present one.
	Next = "next-"
	// Old is before those of a key that is read and no more written with.
	Old = "old-"
)

// prefixes are those of the keys that a Secret may have, the present one first.
var prefixes = []string{"", Next, Old}

// prefix is before the name of the key in what is encrypted, and anyPrefix before everything that is encrypted by whatever means.
// Source: k8s.io/apiserver/pkg/server/options/encryptionconfig.
var prefix, anyPrefix = []byte("k8s:enc:secretbox:v1:"), []byte("k8s:enc:")

// Is says whether an entry of a Secret is one of these keys or their names. It is pure.
func Is(entry string) bool { return strings.HasSuffix(entry, Key) || strings.HasSuffix(entry, Name) }

// Of are the entries of a Secret that are keys and their names. It is pure.
func Of(secret map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for name, data := range secret {
		if Is(name) {
			out[name] = data
		}
	}
	return out
}

// Cipher encrypts with the present key of a control plane, and decrypts with each that it has. Make it with NewCipher.
type Cipher struct {
	present string
	all     map[string]value.Transformer
}

// NewCipher returns the cipher of the keys in a Secret. A key of another length is an error, which names no key; so is it when there is none.
func NewCipher(secret map[string][]byte) (Cipher, error) {
	c := Cipher{all: map[string]value.Transformer{}}
	for _, p := range prefixes {
		key := secret[p+Key]
		if len(key) == 0 {
			continue
		}
		if len(key) != Length {
			return Cipher{}, fmt.Errorf("%s has %d bytes, must have %d", p+Key, len(key), Length)
		}
		name := string(secret[p+Name])
		if name == "" {
			name = pki.FirstEncryptionKeyName
		}
		if c.present == "" {
			c.present = name
		}
		if c.all[name] == nil {
			c.all[name] = secretbox.NewSecretboxTransformer([Length]byte(key))
		}
	}
	if len(secret[Key]) == 0 {
		return Cipher{}, errors.New(Key + " is missing")
	}
	return c, nil
}

// Open decrypts a stored value. One that is not encrypted is returned as it is.
func (c Cipher) Open(ctx context.Context, stored []byte) ([]byte, error) {
	if !bytes.HasPrefix(stored, anyPrefix) {
		return stored, nil
	}
	name, sealed, found := bytes.Cut(bytes.TrimPrefix(stored, prefix), []byte(":"))
	with := c.all[string(name)]
	if !bytes.HasPrefix(stored, prefix) || !found || with == nil {
		return nil, fmt.Errorf("it is encrypted with a key that is not there: %.40q", stored[:min(len(stored), 40)])
	}
	plain, _, err := with.TransformFromStorage(ctx, sealed, value.DefaultContext(nil))
	if err != nil { // upstream's text is about something else
		return nil, fmt.Errorf("it cannot be decrypted with the key %.40q", name)
	}
	return plain, nil
}

// Seal encrypts a value as an API server stores it.
func (c Cipher) Seal(ctx context.Context, plain []byte) ([]byte, error) {
	sealed, err := c.all[c.present].TransformToStorage(ctx, plain, value.DefaultContext(nil))
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return bytes.Join([][]byte{prefix, []byte(c.present + ":"), sealed}, nil), nil
}
