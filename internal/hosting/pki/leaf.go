package pki

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// judge says why the leaf in have does not fit want, which must be normal. The reason "" means that it fits. The order matters only for what the operator reads: the
// cause comes before what follows from it.
func judge(have Bundle, want Leaf, signer *authority, now time.Time) (Reason, string) {
	for _, file := range []string{want.Name + certSuffix, want.Name + keySuffix} {
		if len(have[file]) == 0 {
			return Missing, "there is no " + file
		}
	}
	cert, err := parseCertificate(have[want.Name+certSuffix])
	if err != nil {
		return Unreadable, fmt.Sprintf("%s%s: %v", want.Name, certSuffix, err)
	}
	key, err := parseKey(have[want.Name+keySuffix])
	if err != nil {
		return Unreadable, fmt.Sprintf("%s%s: %v", want.Name, keySuffix, err)
	}
	if !sameKey(key.Public(), cert.PublicKey) {
		return KeyMismatch, ""
	}
	if !signedBy(cert, signer.cert) {
		return WrongSigner, fmt.Sprintf("by %q, must be by the %s at hand, %q", cert.Issuer.CommonName, want.Authority, signer.cert.Subject.CommonName)
	}
	if detail := difference(cert, want); detail != "" {
		return Differs, detail
	}
	return judgeTime(cert, now)
}

func judgeTime(cert *x509.Certificate, now time.Time) (Reason, string) {
	switch due := dueAt(cert); {
	case now.Before(cert.NotBefore):
		return NotYetValid, "begins " + cert.NotBefore.Format(time.RFC3339)
	case now.After(cert.NotAfter):
		return Expired, "ended " + cert.NotAfter.Format(time.RFC3339)
	case !now.Before(due):
		return Due, fmt.Sprintf("since %s, ends %s", due.Format(time.RFC3339), cert.NotAfter.Format(time.RFC3339))
	}
	return "", ""
}

// dueAt is 70 % of the certificate's life: of a year, 3.6 months are left then to notice that renewal does not work. It is in whole seconds, so that it can
// be kept in a status without becoming earlier.
func dueAt(cert *x509.Certificate) time.Time {
	life := cert.NotAfter.Sub(cert.NotBefore)
	due := cert.NotBefore.Add(life / 10 * 7) // in this order: life * 7 overflows after 41 years
	return due.Truncate(time.Second)
}

// difference names what cert says other than want, which must be normal: "" means nothing.
func difference(cert *x509.Certificate, want Leaf) string {
	has := Leaf{CommonName: cert.Subject.CommonName, Organizations: cert.Subject.Organization, DNSNames: cert.DNSNames}
	for _, ip := range cert.IPAddresses {
		addr, _ := netip.AddrFromSlice(ip) // the parser took 4 or 16 bytes only
		has.IPs = append(has.IPs, addr)
	}
	has = has.normal()
	switch {
	case has.CommonName != want.CommonName:
		return fmt.Sprintf("common name is %q, must be %q", has.CommonName, want.CommonName)
	case !slices.Equal(has.Organizations, want.Organizations):
		return fmt.Sprintf("organizations are %q, must be %q", has.Organizations, want.Organizations)
	case !slices.Equal(has.DNSNames, want.DNSNames):
		return fmt.Sprintf("DNS names are %q, must be %q", has.DNSNames, want.DNSNames)
	case !slices.Equal(has.IPs, want.IPs):
		return fmt.Sprintf("IP addresses are %s, must be %s", has.IPs, want.IPs)
	case len(cert.EmailAddresses)+len(cert.URIs) > 0:
		return "has mail addresses or URIs, must have none"
	case cert.IsCA:
		return "is an authority, must not be"
	case cert.KeyUsage != x509.KeyUsageDigitalSignature:
		return "key usage must be digital signature only"
	case !sameUsages(cert, want.Usage):
		return fmt.Sprintf("usage must be %s", want.Usage)
	}
	return ""
}

func sameUsages(cert *x509.Certificate, want Usage) bool {
	has := sorted(cert.ExtKeyUsage, func(a, b x509.ExtKeyUsage) int { return int(a) - int(b) })
	return len(cert.UnknownExtKeyUsage) == 0 && slices.Equal(has, want.extended())
}

// extended returns the X.509 usages in ascending order.
func (u Usage) extended() []x509.ExtKeyUsage {
	switch u {
	case Client:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	case Server:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	case Peer:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	return nil
}

// sign makes the leaf with a new key. want must be normal.
func (a *authority) sign(want Leaf, now time.Time) (certPEM, keyPEM []byte, err error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template, err := newTemplate(key.Public())
	if err != nil {
		return nil, nil, err
	}
	template.Subject = pkix.Name{CommonName: want.CommonName, Organization: want.Organizations}
	life, past := lifeOf(want.Lifetime, brief())
	template.NotBefore, template.NotAfter = now.Add(-past), now.Add(life)
	if template.NotAfter.After(a.cert.NotAfter) {
		template.NotAfter = a.cert.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature // no key encipherment: that is for RSA
	template.ExtKeyUsage = want.Usage.extended()
	template.DNSNames = want.DNSNames
	for _, ip := range want.IPs {
		template.IPAddresses = append(template.IPAddresses, net.IP(ip.AsSlice()))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: typeCertificate, Bytes: der}), keyPEM, nil
}
