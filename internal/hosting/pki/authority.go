package pki

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"time"
)

// authority is a certificate authority that is ready to sign.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// loadAuthority reads NAME.crt and NAME.key and checks that they can sign at now.
func loadAuthority(b Bundle, name string, now time.Time) (*authority, *TrustError) {
	refuse := func(reason Reason, format string, args ...any) (*authority, *TrustError) {
		return nil, &TrustError{Name: name, Reason: reason, Detail: fmt.Sprintf(format, args...)}
	}
	for _, file := range []string{name + certSuffix, name + keySuffix} {
		if len(b[file]) == 0 {
			return refuse(Missing, "there is no %s", file)
		}
	}
	cert, err := parseCertificate(b[name+certSuffix])
	if err != nil {
		return refuse(Unreadable, "%s%s: %v", name, certSuffix, err)
	}
	key, err := parseKey(b[name+keySuffix])
	if err != nil {
		return refuse(Unreadable, "%s%s: %v", name, keySuffix, err)
	}
	if !sameKey(key.Public(), cert.PublicKey) {
		return refuse(KeyMismatch, "%s%s is not the key of %s%s", name, keySuffix, name, certSuffix)
	}
	if !cert.IsCA || cert.KeyUsage != 0 && cert.KeyUsage&x509.KeyUsageCertSign == 0 {
		return refuse(Unreadable, "%s%s is not the certificate of an authority", name, certSuffix)
	}
	if now.Before(cert.NotBefore) {
		return refuse(NotYetValid, "it begins %s; is the clock right?", cert.NotBefore.Format(time.RFC3339))
	}
	if now.Add(shortest).After(cert.NotAfter) {
		return refuse(Expired, "it ends %s, and the last %s are too short to sign anything", cert.NotAfter.Format(time.RFC3339), shortest)
	}
	return &authority{cert: cert, key: key}, nil
}

// authority returns the authority of this name, kept or made.
//
// When only the key is there, or when the certificate is for other domains, it is made again from the key: same name and key, so a client that trusts the old
// certificate trusts what this one signs, below the old one's domains. The first is also the state after dying between the first two writes of a new bundle.
func (is *issuing) authority(want Authority) (*authority, error) {
	certFile, keyFile := want.Name+certSuffix, want.Name+keySuffix
	if len(is.have[certFile]) > 0 {
		ready, problem := loadAuthority(is.have, want.Name, is.now)
		if problem != nil {
			return nil, problem
		}
		if want.sameDomains(ready.cert) {
			is.keep(certFile, keyFile)
			return ready, nil
		}
	}
	key, keyPEM, err := is.oldOrNewKey(want.Name)
	if err != nil {
		return nil, err
	}
	made, err := makeAuthority(want, key, is.now)
	if err != nil {
		return nil, fmt.Errorf("make authority %s: %w", want.Name, err)
	}
	if leaf := is.orphan(want.Name, made); leaf != "" {
		return nil, &TrustError{Name: want.Name, Reason: Missing, Detail: fmt.Sprintf("there is no %s, but the authority that signed %s%s was there once",
			certFile, leaf, certSuffix)}
	}
	is.got[certFile] = pem.EncodeToMemory(&pem.Block{Type: typeCertificate, Bytes: made.cert.Raw})
	is.got[keyFile] = keyPEM
	reason, detail := Missing, ""
	if len(is.have[certFile]) > 0 {
		reason, detail = Differs, fmt.Sprintf("signs below %q", want.Domains)
	}
	is.note(want.Name, reason, detail)
	return made, nil
}

// sameDomains reports whether the certificate of an authority bounds it as wanted.
func (a Authority) sameDomains(cert *x509.Certificate) bool {
	return len(a.Domains) == 0 || slices.Equal(sorted(cert.PermittedDNSDomains, strings.Compare), sorted(a.Domains, strings.Compare))
}

// oldOrNewKey returns the key NAME.key and its text, and makes one only if there is none.
func (is *issuing) oldOrNewKey(name string) (crypto.Signer, []byte, error) {
	data := is.have[name+keySuffix]
	if len(data) == 0 {
		return newKey()
	}
	key, err := parseKey(data)
	if err != nil {
		return nil, nil, &TrustError{Name: name, Reason: Unreadable, Detail: fmt.Sprintf("%s%s: %v", name, keySuffix, err)}
	}
	return key, data, nil
}

// orphan returns a leaf of the authority called name that neither made nor any other authority certificate in have signed: the proof that an authority was
// lost. "" means that there is none.
func (is *issuing) orphan(name string, made *authority) string {
	signers := []*x509.Certificate{made.cert}
	for _, data := range is.have {
		if cert, err := parseCertificate(data); err == nil && cert.IsCA {
			signers = append(signers, cert)
		}
	}
	for _, leaf := range is.want.Leaves {
		if leaf.Authority != name {
			continue
		}
		cert, err := parseCertificate(is.have[leaf.Name+certSuffix])
		if err != nil {
			continue
		}
		if !slices.ContainsFunc(signers, func(ca *x509.Certificate) bool { return signedBy(cert, ca) }) {
			return leaf.Name
		}
	}
	return ""
}

// signingKey keeps or makes NAME.key and NAME.pub. The public half can always be made from the private one. A public half that lacks the private one's is an
// error, since this package cannot know which of the two the cluster's tokens were signed with.
func (is *issuing) signingKey(name string) error {
	keyFile, publicFile := name+keySuffix, name+publicSuffix
	public := is.have[publicFile]
	if len(is.have[keyFile]) == 0 && len(public) > 0 {
		return &TrustError{Name: name, Reason: Missing, Detail: fmt.Sprintf("there is no %s, but a %s", keyFile, publicFile)}
	}
	key, keyPEM, err := is.oldOrNewKey(name)
	if err != nil {
		return err
	}
	is.got[keyFile] = keyPEM
	reason, detail := Missing, ""
	if len(public) > 0 {
		keys, err := parsePublicKeys(public)
		if err == nil && slices.ContainsFunc(keys, func(k crypto.PublicKey) bool { return sameKey(k, key.Public()) }) {
			is.keep(publicFile)
			return nil
		}
		if err == nil {
			return &TrustError{Name: name, Reason: KeyMismatch, Detail: fmt.Sprintf("%s is not the public half of %s", publicFile, keyFile)}
		}
		reason, detail = Unreadable, fmt.Sprintf("%s: %v", publicFile, err)
	}
	if is.got[publicFile], err = encodePublicKey(key.Public()); err != nil {
		return err
	}
	is.note(name, reason, detail)
	return nil
}

func makeAuthority(want Authority, key crypto.Signer, now time.Time) (*authority, error) {
	template, err := newTemplate(key.Public())
	if err != nil {
		return nil, err
	}
	template.Subject = pkix.Name{CommonName: want.CommonName}
	template.NotBefore, template.NotAfter = now.Add(-clockSkew), now.Add(want.Lifetime)
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	template.AuthorityKeyId = template.SubjectKeyId
	template.IsCA = true
	template.MaxPathLenZero = true // with MaxPathLen 0: signs leaves, no further authorities
	if len(want.Domains) > 0 {
		template.PermittedDNSDomainsCritical, template.PermittedDNSDomains = true, sorted(want.Domains, strings.Compare)
		template.ExcludedIPRanges = []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: make(net.IPMask, net.IPv4len)}, {IP: net.IPv6zero, Mask: make(net.IPMask, net.IPv6len)}}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key}, nil
}

// newTemplate has what every certificate of ours has: a random serial number, the identifier of its key and basic constraints.
func newTemplate(public crypto.PublicKey) (*x509.Certificate, error) {
	// 128 random bits: never the same twice, without a counter that would have to be kept (RFC 5280, 4.1.2.2 allows 160).
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, err
	}
	id, err := keyID(public)
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{SerialNumber: serial, SubjectKeyId: id, BasicConstraintsValid: true}, nil
}

// keyID is the subject key identifier of a key: the first 160 bits of the SHA-256 of its bit string (RFC 7093, section 2, method 1). It depends on the key
// only, so an authority's certificate that is made again carries the same one.
func keyID(public crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, err
	}
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(info.Key.Bytes)
	return sum[:20], nil
}

// signedBy reports whether ca signed cert, by name and by signature.
func signedBy(cert, ca *x509.Certificate) bool {
	return bytes.Equal(cert.RawIssuer, ca.RawSubject) && cert.CheckSignatureFrom(ca) == nil
}
