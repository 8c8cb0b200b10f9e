package rest

import "time"

// CredentialKeys says which keys of the credentials of a provisioner, or of an adopted cluster, are set. The API never returns their values.
type CredentialKeys struct {
	// Keys are in order; empty when nothing is set.
	Keys []string `json:"keys"`
	// SetAt is when they were set last.
	SetAt *time.Time `json:"setAt,omitempty"`
}
