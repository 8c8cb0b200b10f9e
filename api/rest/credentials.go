package rest

import "time"

// CredentialKeys says what is set of a provisioner's credentials. The values are told to nobody.
type CredentialKeys struct {
	// Keys are in order; empty when nothing is set.
	Keys []string `json:"keys"`
	// SetAt is when they were set last.
	SetAt *time.Time `json:"setAt,omitempty"`
}
