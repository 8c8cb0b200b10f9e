package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	typeCertificate = "CERTIFICATE"
	typePrivateKey  = "PRIVATE KEY"
	typePublicKey   = "PUBLIC KEY"
)

// blocks returns the PEM blocks in data. Text before a block is skipped, as every PEM reader does; text after the last one is an error, since it is most often a
// block that was cut off.
func blocks(data []byte) ([]*pem.Block, error) {
	var out []*pem.Block
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		out, data = append(out, block), rest
	}
	if len(out) == 0 {
		return nil, errors.New("no PEM block")
	}
	if len(bytes.TrimSpace(data)) > 0 {
		return nil, errors.New("text that is not PEM after the last block")
	}
	return out, nil
}

// parseCertificate reads exactly one certificate. A second one is refused rather than kept unseen: kube-controller-manager, too, refuses a signing
// certificate that is not alone in its file.
func parseCertificate(data []byte) (*x509.Certificate, error) {
	found, err := blocks(data)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 || found[0].Type != typeCertificate {
		return nil, fmt.Errorf("%d PEM blocks, the first a %s: must be one %s", len(found), found[0].Type, typeCertificate)
	}
	return x509.ParseCertificate(found[0].Bytes)
}

// parseKey reads exactly one private key, ECDSA or RSA (what service account tokens can be signed with), in PKCS #8, SEC 1 or PKCS #1. We write PKCS #8 with
// ECDSA; the rest is for bundles that others made.
func parseKey(data []byte) (crypto.Signer, error) {
	found, err := blocks(data)
	if err != nil {
		return nil, err
	}
	if found[0].Type == "EC PARAMETERS" { // openssl writes them before the key, which names its curve itself
		found = found[1:]
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d PEM blocks: must be one private key", len(found))
	}
	switch found[0].Type {
	case typePrivateKey:
		key, err := x509.ParsePKCS8PrivateKey(found[0].Bytes)
		if err != nil {
			return nil, err
		}
		switch key := key.(type) {
		case *ecdsa.PrivateKey:
			return key, nil
		case *rsa.PrivateKey:
			return key, nil
		}
		return nil, fmt.Errorf("private key of type %T: must be ECDSA or RSA", key)
	case "EC PRIVATE KEY":
		key, err := x509.ParseECPrivateKey(found[0].Bytes)
		if err != nil { // the nil pointer must not become a non-nil Signer
			return nil, err
		}
		return key, nil
	case "RSA PRIVATE KEY":
		key, err := x509.ParsePKCS1PrivateKey(found[0].Bytes)
		if err != nil {
			return nil, err
		}
		return key, nil
	}
	return nil, fmt.Errorf("PEM block %s: must be a private key", found[0].Type)
}

// parsePublicKeys reads one public key or more: while a signing key is being replaced, the old one stays in the file.
func parsePublicKeys(data []byte) ([]crypto.PublicKey, error) {
	found, err := blocks(data)
	if err != nil {
		return nil, err
	}
	var keys []crypto.PublicKey
	for _, block := range found {
		if block.Type != typePublicKey {
			return nil, fmt.Errorf("PEM block %s: must be %s", block.Type, typePublicKey)
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// sameKey reports whether two public keys are the same. Keys of kinds that cannot be compared are not.
func sameKey(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && k.Equal(b)
}

// newKey makes an ECDSA P-256 key: every client of Kubernetes and etcd takes it, tokens signed with it are ES256, and making one costs microseconds.
func newKey() (crypto.Signer, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode key: %w", err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: typePrivateKey, Bytes: der}), nil
}

func encodePublicKey(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: typePublicKey, Bytes: der}), nil
}
