package datastore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// RootTLS returns [Config].TLS from PEM: the authority of the servers' certificates, and the
// certificate and key of etcd's root user.
func RootTLS(ca, cert, key []byte) (*tls.Config, error) {
	root, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the root user's certificate and key: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("the authority holds no certificate")
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{root}, RootCAs: pool}, nil
}
