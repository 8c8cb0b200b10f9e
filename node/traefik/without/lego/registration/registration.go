// Package registration makes no account.
package registration

import (
	"context"
	"errors"

	"github.com/go-acme/lego/v5/acme"
)

// RegisterOptions of an account.
type RegisterOptions struct{ TermsOfServiceAgreed bool }

// RegisterEABOptions are of an account that the server knows otherwise.
type RegisterEABOptions struct {
	TermsOfServiceAgreed bool
	Kid, HmacEncoded     string
}

// Registrar makes accounts.
type Registrar struct{}

// Register fails.
func (*Registrar) Register(context.Context, RegisterOptions) (*acme.ExtendedAccount, error) {
	return nil, errors.ErrUnsupported
}

// RegisterWithExternalAccountBinding fails.
func (*Registrar) RegisterWithExternalAccountBinding(context.Context, RegisterEABOptions) (*acme.ExtendedAccount, error) {
	return nil, errors.ErrUnsupported
}
