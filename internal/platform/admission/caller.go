package admission

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// Caller is the API server that may ask, by the client certificate that it presents to webhooks. Every user of the host
// reaches the webhook's port, and what it lets through counts against a quota.
type Caller struct {
	// Name is the common name in the certificate, and Authority, in PEM, has signed it.
	Name      string
	Authority []byte
}

// require has a server let in no other caller.
func (c Caller) require(config *tls.Config) error {
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(c.Authority) {
		return errors.New("who may ask for admission: the authority holds no PEM certificate")
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.VerifyConnection = func(state tls.ConnectionState) error { return c.check(state.VerifiedChains) }
	return nil
}

// check refuses those of the same authority that have another name. Chains were verified. It is pure.
func (c Caller) check(chains [][]*x509.Certificate) error {
	if len(chains) == 0 || len(chains[0]) == 0 {
		return errors.New("the caller presents no certificate")
	}
	if name := chains[0][0].Subject.CommonName; name != c.Name {
		return fmt.Errorf("the caller is %.64q; only %q may ask for admission", name, c.Name)
	}
	return nil
}
