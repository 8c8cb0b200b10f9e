// Package tlsalpn01 is the proof by a certificate.
package tlsalpn01

import (
	"errors"
	"time"
)

// ACMETLS1Protocol is what the server asks for in the handshake (RFC 8737, 6.2).
const ACMETLS1Protocol = "acme-tls/1"

// ChallengeOption is ignored.
type ChallengeOption struct{}

// SetDelay returns none.
func SetDelay(time.Duration) ChallengeOption { return ChallengeOption{} }

// ChallengeBlocks fails.
func ChallengeBlocks(_, _ string) (certificate, key []byte, err error) {
	return nil, nil, errors.ErrUnsupported
}
