// Package client is the Go client of KQueen's REST API.
//
// It has a method for each operation that it knows, over the types of api/rest,
// and how a program connects: a TLS connection to a server whose
// certificate authority is pinned, calls that are bounded in time and size and
// repeated only where that is safe, and errors as RFC 9457 has them. It hides
// HTTP. Every program may use it; it imports nothing else of KQueen than those types.
package client

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// pinPrefix names the algorithm of a pin.
const pinPrefix = "sha256:"

// Connection says where KQueen is and how it is recognized.
type Connection struct {
	// Server is the URL of the API: "https://kqueen.example.com:8443", or "unix:///var/lib/kqueen/api.sock" for the local
	// socket of an installation, where the kernel proves both sides: it takes neither CA, CAPin nor a token.
	Server string
	// CA is the certificate authority that the server's certificate must come from: one PEM certificate or more.
	CA []byte
	// CAPin is the authority's fingerprint, as [Pin] writes it. It is enough without CA when the server sends its
	// authority along, as KQueen does. It outlives the renewal of the authority's certificate with the same key.
	//
	// With neither CA nor CAPin the authorities of the operating system are trusted.
	CAPin string
}

// Authority is what a server presents at the first contact.
type Authority struct {
	// CA is its certificate, in PEM, and Pin its fingerprint.
	CA  []byte
	Pin string
	// Subject is the name that it gives itself, for the user to read. It proves nothing.
	Subject string
	// NotAfter is when its certificate expires.
	NotAfter time.Time
	// Known says that the operating system trusts the server without a pin.
	Known bool
}

// PinError says that a server is not the one that was met before.
type PinError struct {
	Server    string
	Want, Got string // pins
}

// Error says what happened and what to do.
func (e *PinError) Error() string {
	return fmt.Sprintf("the certificate authority of %s is not the one that you trust: want %s, got %s. "+
		"Either the installation was created again, or another program is between you and it. "+
		"Nothing was sent. Ask its administrator for the fingerprint; if it is the new one, sign in again with it", e.Server, e.Want, e.Got)
}

// Pin returns the fingerprint of a certificate's key: "sha256:" and the SHA-256 of its SubjectPublicKeyInfo in
// hexadecimal digits.
func Pin(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return pinPrefix + hex.EncodeToString(sum[:])
}

// PinOf returns the fingerprint of the first certificate in PEM.
func PinOf(authority []byte) (string, error) {
	block, _ := pem.Decode(authority)
	if block == nil || block.Type != "CERTIFICATE" {
		return "", errors.New("there is no certificate in PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", err
	}
	return Pin(cert), nil
}

// FirstContact asks a server for its authority, so that a person can compare the fingerprint and keep it. It sends
// nothing but the handshake. The server must prove that it has the key of a certificate of that authority, for its name.
func FirstContact(ctx context.Context, server string) (Authority, error) {
	u, err := parseServer(server)
	if err != nil {
		return Authority{}, err
	}
	var met Authority
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: u.Hostname(),
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection looks at the chain; whether to trust its top is what a person is asked
		VerifyConnection: func(state tls.ConnectionState) error {
			met, err = authorityOf(state, u.Hostname())
			return err
		},
	}
	dialer := tls.Dialer{Config: config}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), portOf(u)))
	if err != nil {
		return Authority{}, fmt.Errorf("connect to %s: %w", server, err)
	}
	return met, conn.Close()
}

// authorityOf returns the top of a presented chain, which the rest must come from.
func authorityOf(state tls.ConnectionState, host string) (Authority, error) {
	top := state.PeerCertificates[len(state.PeerCertificates)-1]
	if err := verify(state, host, []*x509.Certificate{top}); err != nil {
		return Authority{}, err
	}
	return Authority{
		CA:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: top.Raw}),
		Pin: Pin(top), Subject: top.Subject.String(), NotAfter: top.NotAfter,
		Known: verify(state, host, nil) == nil,
	}, nil
}

// verify checks that the peer's certificate is for a host and comes from one of the roots; nil for the system's. The
// host is not taken from the state, which does not have it when it is an address.
func verify(state tls.ConnectionState, host string, roots []*x509.Certificate) error {
	options := x509.VerifyOptions{DNSName: host, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if roots != nil {
		options.Roots = x509.NewCertPool()
	}
	for _, root := range roots {
		options.Roots.AddCert(root)
	}
	for _, cert := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(cert)
	}
	_, err := state.PeerCertificates[0].Verify(options)
	return err
}

// tlsConfig trusts what the connection says, and nothing else.
func (c Connection) tlsConfig() (*tls.Config, error) {
	u, err := parseServer(c.Server)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}
	roots, pins, err := c.trusted()
	if err != nil || len(pins) == 0 {
		return config, err
	}
	config.InsecureSkipVerify = true // VerifyConnection does it, also for sessions that are resumed
	config.VerifyConnection = func(state tls.ConnectionState) error {
		found := slices.Clone(roots)
		for _, cert := range state.PeerCertificates {
			if slices.Contains(pins, Pin(cert)) {
				found = append(found, cert)
			}
		}
		changed := &PinError{Server: c.Server, Want: strings.Join(pins, " or "), Got: Pin(state.PeerCertificates[len(state.PeerCertificates)-1])}
		if len(found) == 0 {
			return changed
		}
		err := verify(state, u.Hostname(), found)
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
			return changed
		}
		if err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
		}
		return nil
	}
	return config, nil
}

// trusted returns the certificates and the pins that are trusted.
func (c Connection) trusted() ([]*x509.Certificate, []string, error) {
	var roots []*x509.Certificate
	var pins []string
	if c.CAPin != "" {
		digits, ok := strings.CutPrefix(c.CAPin, pinPrefix)
		if raw, err := hex.DecodeString(digits); !ok || err != nil || len(raw) != sha256.Size {
			return nil, nil, fmt.Errorf("caPin: %q: must be sha256: and 64 hexadecimal digits", c.CAPin)
		}
		pins = append(pins, strings.ToLower(c.CAPin))
	}
	for rest := c.CA; len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, nil, fmt.Errorf("ca: %w", err)
		}
		if c.CAPin != "" && !slices.Contains(pins, Pin(cert)) {
			continue // the pin says which one of them
		}
		roots, pins = append(roots, cert), append(pins, Pin(cert))
	}
	if len(c.CA) > 0 && len(roots) == 0 {
		return nil, nil, errors.New("ca: must hold a PEM certificate, that of caPin when both are there")
	}
	slices.Sort(pins)
	return roots, slices.Compact(pins), nil
}

func parseServer(server string) (*url.URL, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("server: must be a URL such as https://kqueen.example.com:8443, without user, query and fragment")
	}
	return u, nil
}

func portOf(u *url.URL) string {
	if u.Port() == "" {
		return "443"
	}
	return u.Port()
}
