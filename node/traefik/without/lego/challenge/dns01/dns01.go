// Package dns01 is the proof by a record of the name service.
package dns01

import (
	"strings"
	"time"
)

// UnFqdn returns a name without the dot at its end.
func UnFqdn(name string) string { return strings.TrimSuffix(name, ".") }

// Options of a [Client].
type Options struct{ RecursiveNameservers []string }

// Client asks name servers.
type Client struct{}

// NewClient returns one that asks none.
func NewClient(*Options) *Client { return nil }

// SetDefaultClient does nothing.
func SetDefaultClient(*Client) {}

// ChallengeOption is ignored.
type ChallengeOption struct{}

// CondOptions returns none.
func CondOptions(bool, ...ChallengeOption) ChallengeOption { return ChallengeOption{} }

// DisableAuthoritativeNssPropagationRequirement returns none.
func DisableAuthoritativeNssPropagationRequirement() ChallengeOption { return ChallengeOption{} }

// DisableRecursiveNSsPropagationRequirement returns none.
func DisableRecursiveNSsPropagationRequirement() ChallengeOption { return ChallengeOption{} }

// PropagationWait returns none.
func PropagationWait(time.Duration, bool) ChallengeOption { return ChallengeOption{} }
