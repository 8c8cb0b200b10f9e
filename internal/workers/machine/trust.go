package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// TrustHash tells the authorities (PEM) that a machine trusts from all others, also from the same ones in another order. It is pure.
func TrustHash(authorities []byte) string {
	sum := sha256.Sum256(authorities)
	return HashPrefix + hex.EncodeToString(sum[:])
}

// IsTrustHash says whether a text, which a machine may have written, is such a hash. It is pure.
func IsTrustHash(text string) bool {
	sum, found := strings.CutPrefix(text, HashPrefix)
	raw, err := hex.DecodeString(sum)
	return found && err == nil && len(raw) == sha256.Size
}
