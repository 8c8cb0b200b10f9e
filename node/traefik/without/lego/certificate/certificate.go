// Package certificate orders none.
package certificate

import (
	"context"
	"errors"

	"github.com/go-acme/lego/v5/certcrypto"
)

// Resource is a certificate and its key.
type Resource struct {
	ID                      string
	Domains                 []string
	Certificate, PrivateKey []byte
}

// ObtainRequest describes a certificate.
type ObtainRequest struct {
	Domains, EmailAddresses  []string
	Profile, PreferredChain  string
	Bundle, EnableCommonName bool
	KeyType                  certcrypto.KeyType
}

// RenewOptions describe a renewal.
type RenewOptions struct {
	EmailAddresses           []string
	Profile, PreferredChain  string
	Bundle, EnableCommonName bool
}

// Certifier orders certificates.
type Certifier struct{}

// Obtain fails.
func (*Certifier) Obtain(context.Context, ObtainRequest) (*Resource, error) {
	return nil, errors.ErrUnsupported
}

// Renew fails.
func (*Certifier) Renew(context.Context, Resource, *RenewOptions) (*Resource, error) {
	return nil, errors.ErrUnsupported
}
