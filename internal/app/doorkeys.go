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

// Lifetimes of the door's authority, which clients pin, and of its certificate, which is renewed.
const (
	doorAuthorityLife   = 10 * 365 * 24 * time.Hour
	doorCertificateLife = 365 * 24 * time.Hour
)

// authorityFile is what signs the door's certificate, for those who are to trust it.
const authorityFile = "api-ca.crt"

// renewDoor makes the door's keys, or renews its certificate when that is due.
func (a *App) renewDoor(d *door) error {
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
	keys, err := pki.IssueFile(filepath.Join(a.Dir, "keys", "door.json"), pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "kqueen-api-ca", Lifetime: doorAuthorityLife}},
		Leaves: []pki.Leaf{{
			Name: "door", Authority: "ca", CommonName: "kqueen-api", Usage: pki.Server, DNSNames: names, IPs: ips, Lifetime: doorCertificateLife,
		}},
	}, nil)
	if err != nil {
		return fmt.Errorf("keys of the door: %w", err)
	}
	certificate, err := tls.X509KeyPair(keys["door.crt"], keys["door.key"])
	if err != nil {
		return fmt.Errorf("keys of the door: %w", err)
	}
	// The authority goes along, so that a client that pins it can see it.
	if block, _ := pem.Decode(keys["ca.crt"]); block != nil {
		certificate.Certificate = append(certificate.Certificate, block.Bytes)
	}
	d.authority = keys["ca.crt"]
	d.certificate.Store(&certificate)
	return atomicfile.Write(filepath.Join(a.Dir, authorityFile), d.authority, 0o600)
}

// openIssuer makes the issuer under the address of the port.
func (a *App) openIssuer(d *door) error {
	made, err := issuer.New(issuer.Config{URL: "https://issuer." + a.Domain, Base: a.apiAddress() + server.IssuerPath, Now: time.Now})
	if err != nil {
		return err
	}
	d.issuer = made
	return a.renewIssuer(d)
}

// renewIssuer is cheap when no key is due.
func (a *App) renewIssuer(d *door) error {
	file := filepath.Join(a.Dir, "keys", "issuer.json")
	stored, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the keys of the issuer: %w", err)
	}
	due, err := d.issuer.Renew(stored, func(keys []byte) error { return atomicfile.Write(file, keys, 0o600) })
	d.due.Store(&due)
	return err
}

// trust is what tenants' API servers are told of the issuer.
func (d *door) trust() *controlplane.TokenIssuer {
	return &controlplane.TokenIssuer{URL: d.issuer.URL(), DiscoveryURL: d.issuer.DiscoveryURL(), CA: d.authority}
}
