//go:build linux

package app

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/server"
	"kqueen.io/kqueen/internal/tenancy/issuer"
)

// Lifetimes of the REST API's authority, which clients pin, and of its certificate, which is renewed.
const (
	apiAuthorityLife   = 10 * 365 * 24 * time.Hour
	apiCertificateLife = 365 * 24 * time.Hour
)

// authorityFile is the authority that signs the REST API's certificate, for clients that are to trust it.
const authorityFile = "api-ca.crt"

// apiKeys is the file and the leaf with the REST API's keys. The name is that of the first version: another one would
// give an installation another authority than the one that its clients have pinned.
const apiKeys = "door"

func apiKeysFile(dir string) string { return filepath.Join(dir, "keys", apiKeys+".json") }

// renewAPIKeys creates the REST API's keys, or renews its certificate when that is due.
func (a *App) renewAPIKeys(d *apiServer) error {
	names := []string{"localhost", "api." + a.Domain}
	if host, err := os.Hostname(); err == nil && len(validation.IsDNS1123Subdomain(host)) == 0 {
		names = append(names, host)
	}
	ips := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	for _, ip := range []netip.Addr{a.Listen, advertiseAddress(a.Listen)} {
		if ip.IsValid() && !ip.IsUnspecified() {
			ips = append(ips, ip)
		}
	}
	keys, err := pki.IssueFile(apiKeysFile(a.Dir), pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "kqueen-api-ca", Lifetime: apiAuthorityLife}},
		Leaves: []pki.Leaf{{
			Name: apiKeys, Authority: "ca", CommonName: "kqueen-api", Usage: pki.Server, DNSNames: names, IPs: ips, Lifetime: apiCertificateLife,
		}},
	}, nil, ledger{a})
	if err != nil {
		return fmt.Errorf("keys of the REST API: %w", err)
	}
	certificate, err := tls.X509KeyPair(keys[apiKeys+".crt"], keys[apiKeys+".key"])
	if err != nil {
		return fmt.Errorf("keys of the REST API: %w", err)
	}
	// The authority goes along, so that a client that pins it can see it.
	if block, _ := pem.Decode(keys["ca.crt"]); block != nil {
		certificate.Certificate = append(certificate.Certificate, block.Bytes)
	}
	d.authority = keys["ca.crt"]
	d.certificate.Store(&certificate)
	return atomicfile.Keep(filepath.Join(a.Dir, authorityFile), d.authority, 0o600)
}

// openIssuer creates the issuer under the address of the port.
func (a *App) openIssuer(d *apiServer) error {
	made, err := issuer.New(issuer.Config{URL: "https://issuer." + a.Domain, Base: a.apiAddress() + server.IssuerPath, Now: time.Now})
	if err != nil {
		return err
	}
	d.issuer = made
	return a.renewIssuer(d)
}

// renewIssuer is cheap when no key is due. Keys that are damaged are set aside: users get other credentials by themselves.
func (a *App) renewIssuer(d *apiServer) error {
	file := filepath.Join(a.Dir, "keys", "issuer.json")
	stored, err := os.ReadFile(file)
	renew := func(stored []byte) error {
		due, err := d.issuer.Renew(stored, func(keys []byte) error { return atomicfile.Write(file, keys, 0o600) })
		if err == nil {
			d.due.Store(&due)
		}
		return err
	}
	if len(stored) > 0 || errors.Is(err, fs.ErrNotExist) {
		if err = renew(stored); !errors.Is(err, issuer.ErrKeys) {
			return err
		}
	}
	aside, failed := atomicfile.SetAside(file)
	if failed != nil {
		return errors.Join(err, failed)
	}
	a.problems.note("issuer", fmt.Errorf("%s was damaged, and is %s now; credentials for clusters are signed with a new key, and those from before are refused", file, aside))
	return renew(nil)
}

// replaceableKey reads a secret key on which nothing depends that is not made again soon, or makes one.
func replaceableKey(a *App, name string) ([]byte, error) {
	file := filepath.Join(a.Dir, "keys", name+".key")
	key, err := pki.SecretKey(file, pki.Forgetful{})
	if _, ok := errors.AsType[*atomicfile.DamagedError](err); !ok {
		return key, err
	}
	aside, failed := atomicfile.SetAside(file)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	a.problems.note(name, fmt.Errorf("%s was damaged, and is %s now; there is a new one", file, aside))
	return pki.SecretKey(file, pki.Forgetful{})
}

// trust is what tenants' API servers are told of the issuer.
func (d *apiServer) trust() *controlplane.TokenIssuer {
	return &controlplane.TokenIssuer{URL: d.issuer.URL(), DiscoveryURL: d.issuer.DiscoveryURL(), CA: d.authority}
}
