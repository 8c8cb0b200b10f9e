package pki

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"strings"
)

// fingerprintPrefix names the hash in the text of a fingerprint.
const fingerprintPrefix = "sha256:"

// Roots returns the fingerprints of the set's roots of trust that b has and that can be read, by their names. That of an
// authority or a signing key is the hash of its public key, so that a certificate that is made again from its key has the
// same one.
func (b Bundle) Roots(set Set) map[string]string {
	out := map[string]string{}
	note := func(name string, key crypto.PublicKey) {
		if der, err := x509.MarshalPKIXPublicKey(key); err == nil {
			out[name] = fingerprint(der)
		}
	}
	for _, a := range set.Authorities {
		if cert, err := parseCertificate(b[a.Name+certSuffix]); err == nil {
			note(a.Name, cert.PublicKey)
		} else if key, err := parseKey(b[a.Name+keySuffix]); err == nil {
			note(a.Name, key.Public())
		}
	}
	for _, name := range set.SigningKeys {
		if key, err := parseKey(b[name+keySuffix]); err == nil {
			note(name, key.Public())
		}
	}
	return out
}

// SecretFingerprint is that of a key that has no public half. It tells nothing of the key, which is random.
func SecretFingerprint(key []byte) string {
	return fingerprint(append([]byte("kqueen secret key\x00"), key...))
}

// FirstEncryptionKeyName is that of the encryption key that a control plane was created with, in what it has encrypted.
const FirstEncryptionKeyName = "key1"

// EncryptionKeyName is the name of an encryption key that has taken the place of another one, of its fingerprint: what is stored is told
// by it.
func EncryptionKeyName(of string) string {
	digest := strings.TrimPrefix(of, fingerprintPrefix)
	return "key-" + digest[:min(len(digest), 16)]
}

func fingerprint(data []byte) string {
	sum := sha256.Sum256(data)
	return fingerprintPrefix + hex.EncodeToString(sum[:])
}
