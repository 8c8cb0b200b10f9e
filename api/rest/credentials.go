package rest

import "time"

// CredentialKeys says which keys of a provisioner's credentials are set. The API never returns their values.
type CredentialKeys struct {
	// Keys are in order; empty when nothing is set.
	Keys []string `json:"keys"`
	// SetAt is when they were set last.
	SetAt *time.Time `json:"setAt,omitempty"`
}
