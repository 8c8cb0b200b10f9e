package machine

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
)

// HashPrefix begins every hash of a key.
const HashPrefix = "sha256:"

// KeyHashes returns "sha256:<hex>" of the public keys of certificates in PEM, as kubeadm pins them: of the DER of
// SubjectPublicKeyInfo. It is pure.
func KeyHashes(certificates []byte) ([]string, error) {
	var hashes []string
	for rest := certificates; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read a certificate: %w", err)
		}
		sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
		hashes = append(hashes, HashPrefix+hex.EncodeToString(sum[:]))
	}
	if len(hashes) == 0 {
		return nil, errors.New("it holds no certificate in PEM")
	}
	return hashes, nil
}
