// Package lego is a client of no ACME server.
package lego

import (
	"crypto"
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	"github.com/go-acme/lego/v5/acme"
	"github.com/go-acme/lego/v5/certificate"
	"github.com/go-acme/lego/v5/challenge"
	"github.com/go-acme/lego/v5/challenge/dns01"
	"github.com/go-acme/lego/v5/challenge/http01"
	"github.com/go-acme/lego/v5/challenge/tlsalpn01"
	"github.com/go-acme/lego/v5/registration"
)

// DirectoryURLLetsEncrypt is the address of no server.
const DirectoryURLLetsEncrypt = ""

// User has an account.
type User interface {
	GetEmail() string
	GetRegistration() *acme.ExtendedAccount
	GetPrivateKey() crypto.Signer
}

// Config of a [Client].
type Config struct {
	CADirURL, UserAgent string
	HTTPClient          *http.Client
	Certificate         struct{ Timeout time.Duration }
}

// NewConfig returns an empty one.
func NewConfig(User) *Config { return &Config{} }

// Client of an ACME server.
type Client struct {
	Certificate  *certificate.Certifier
	Registration *registration.Registrar
	Challenge    Challenges
}

// NewClient fails.
func NewClient(*Config) (*Client, error) { return nil, errors.ErrUnsupported }

// CreateCertPool fails.
func CreateCertPool([]string, bool) (*x509.CertPool, error) { return nil, errors.ErrUnsupported }

// Challenges are the proofs that a client can give.
type Challenges struct{}

// SetDNS01Provider fails.
func (Challenges) SetDNS01Provider(challenge.Provider, ...dns01.ChallengeOption) error {
	return errors.ErrUnsupported
}

// SetHTTP01Provider fails.
func (Challenges) SetHTTP01Provider(challenge.Provider, ...http01.ChallengeOption) error {
	return errors.ErrUnsupported
}

// SetTLSALPN01Provider fails.
func (Challenges) SetTLSALPN01Provider(challenge.Provider, ...tlsalpn01.ChallengeOption) error {
	return errors.ErrUnsupported
}
