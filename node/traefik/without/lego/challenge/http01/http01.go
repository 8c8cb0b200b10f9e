// Package http01 is the proof by a page.
package http01

import "time"

// PathPrefix is the folder of the page (RFC 8555, 8.3).
const PathPrefix = "/.well-known/acme-challenge/"

// ChallengeOption is ignored.
type ChallengeOption struct{}

// SetDelay returns none.
func SetDelay(time.Duration) ChallengeOption { return ChallengeOption{} }
