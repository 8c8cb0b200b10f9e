package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// refusals are states of a root of trust in which Issue must do nothing. alter may be nil; other is a fixture of another cluster of the same name.
var refusals = map[string]struct {
	reason string
	alter  func(f *fixture, other fixture)
	after  time.Duration
	want   TrustError
}{
	"Garbage": {
		reason: "an authority that cannot be read may still be trusted by nodes", want: TrustError{Name: "ca", Reason: Unreadable},
		alter: func(f *fixture, other fixture) { f.bundle["ca.crt"] = []byte("oops") },
	},
	"GarbageKey": {
		reason: "nor may its key be replaced", want: TrustError{Name: "ca", Reason: Unreadable},
		alter: func(f *fixture, other fixture) { f.bundle["ca.key"] = []byte("oops") },
	},
	"GarbageKeyAlone": {
		reason: "a key that cannot be read is no reason to make another", want: TrustError{Name: "ca", Reason: Unreadable},
		alter: func(f *fixture, other fixture) { f.bundle = Bundle{"ca.key": []byte("oops")} },
	},
	"KeyMissing": {
		reason: "a certificate cannot sign", want: TrustError{Name: "ca", Reason: Missing},
		alter: func(f *fixture, other fixture) { f.bundle = Bundle{"ca.crt": f.bundle["ca.crt"]} },
	},
	"ForeignKey": {
		reason: "a foreign key cannot sign", want: TrustError{Name: "ca", Reason: KeyMismatch},
		alter: func(f *fixture, other fixture) { f.bundle["ca.key"] = other.bundle["ca.key"] },
	},
	"Lost": {
		reason: "leaves tell that there was an authority", want: TrustError{Name: "ca", Reason: Missing},
		alter: func(f *fixture, other fixture) { delete(f.bundle, "ca.crt"); delete(f.bundle, "ca.key") },
	},
	"LostWithForeignKey": {
		reason: "a foreign key alone does not make the lost authority again", want: TrustError{Name: "front-proxy-ca", Reason: Missing},
		alter: func(f *fixture, other fixture) {
			delete(f.bundle, "front-proxy-ca.crt")
			f.bundle["front-proxy-ca.key"] = other.bundle["front-proxy-ca.key"]
		},
	},
	"NoAuthority": {
		reason: "a leaf cannot sign", want: TrustError{Name: "ca", Reason: Unreadable},
		alter: func(f *fixture, other fixture) {
			f.bundle["ca.crt"], f.bundle["ca.key"] = f.bundle["admin.crt"], f.bundle["admin.key"]
		},
	},
	"TwoCertificates": {
		reason: "only one of them could have the key", want: TrustError{Name: "ca", Reason: Unreadable},
		alter: func(f *fixture, other fixture) {
			f.bundle["ca.crt"] = append(append([]byte(nil), f.bundle["ca.crt"]...), other.bundle["ca.crt"]...)
		},
	},
	"Expired": {reason: "after the end", after: authorityLife + 1, want: TrustError{Name: "ca", Reason: Expired}},
	"LastMinutes": {
		reason: "too little left to sign", after: authorityLife - shortest + time.Second, want: TrustError{Name: "ca", Reason: Expired}},
	"ClockBehind": {reason: "before the begin", after: -time.Hour, want: TrustError{Name: "ca", Reason: NotYetValid}},
	"SigningKeyGarbage": {
		reason: "tokens were signed with it", want: TrustError{Name: "sa", Reason: Unreadable},
		alter: func(f *fixture, other fixture) { f.bundle["sa.key"] = []byte("oops") },
	},
	"SigningKeyMissing": {
		reason: "tokens were signed with it", want: TrustError{Name: "sa", Reason: Missing},
		alter: func(f *fixture, other fixture) { delete(f.bundle, "sa.key") },
	},
	"SigningKeyForeign": {
		reason: "it is not known which half the tokens need", want: TrustError{Name: "sa", Reason: KeyMismatch},
		alter: func(f *fixture, other fixture) { f.bundle["sa.pub"] = other.bundle["sa.pub"] },
	},
	"NoSigners": {
		reason: "the store's authority must be given", want: TrustError{Name: "store-ca", External: true, Reason: Missing},
		alter: func(f *fixture, other fixture) { f.signers = nil },
	},
	"SignerWithoutKey": {
		reason: "with its key", want: TrustError{Name: "store-ca", External: true, Reason: Missing},
		alter: func(f *fixture, other fixture) { delete(f.signers, "store-ca.key") },
	},
	"SignerGarbage": {
		reason: "and readable", want: TrustError{Name: "store-ca", External: true, Reason: Unreadable},
		alter: func(f *fixture, other fixture) { f.signers["store-ca.crt"] = []byte("oops") },
	},
}

func TestRootsOfTrustAreNeverReplaced(t *testing.T) {
	original, other := newFixture(t, start), newFixture(t, start)
	for name, tc := range refusals {
		t.Run(name, func(t *testing.T) {
			f := original.copy()
			if tc.alter != nil {
				tc.alter(&f, other)
			}
			before := maps.Clone(f.bundle)
			got, changes, err := Issue(f.bundle, f.want, f.signers, start.Add(tc.after))
			var trust *TrustError
			if !errors.As(err, &trust) {
				t.Fatalf("%s: want a TrustError, got %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, *trust, cmpopts.IgnoreFields(TrustError{}, "Detail")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if !strings.Contains(err.Error(), tc.want.Name) || trust.Detail == "" {
				t.Errorf("the error does not say what is wrong: %v", err)
			}
			if got != nil || changes != nil || !before.Equal(f.bundle) {
				t.Errorf("with an error nothing may be done: got %v, %v", got, changes)
			}
		})
	}
}

// TestAuthoritiesMadeByOthers takes authorities as kubeadm, openssl and older tools write them.
func TestAuthoritiesMadeByOthers(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecDER, err := x509.MarshalECPrivateKey(ecKey)
	if err != nil {
		t.Fatal(err)
	}
	sec1 := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: ecDER})
	parameters := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 5, 0x2b, 0x81, 4, 0, 0x22}})
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)})
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: start, NotAfter: start.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true,
	}
	rsaDER, err := x509.CreateCertificate(rand.Reader, template, template, rsaKey.Public(), rsaKey)
	if err != nil {
		t.Fatal(err)
	}
	ecCert, err := x509.CreateCertificate(rand.Reader, template, template, ecKey.Public(), ecKey)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ cert, key []byte }{
		"RSA":     {cert: rsaDER, key: pkcs1},
		"SEC1":    {cert: ecCert, key: sec1},
		"OpenSSL": {cert: ecCert, key: append(parameters, sec1...)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, start)
			have := Bundle{"ca.crt": pem.EncodeToMemory(&pem.Block{Type: typeCertificate, Bytes: tc.cert}), "ca.key": tc.key}
			got, _ := issue(t, have, f.want, f.signers, start.Add(time.Hour))
			if !cmp.Equal(got["ca.crt"], have["ca.crt"]) || !cmp.Equal(got["ca.key"], have["ca.key"]) {
				t.Error("the authority was not kept")
			}
			if cert := certificate(t, got, "admin"); !signedBy(cert, certificate(t, got, "ca")) {
				t.Error("admin is not signed by it")
			}
			if again, changes := issue(t, got, f.want, f.signers, start.Add(time.Hour)); !again.Equal(got) {
				t.Errorf("a second Issue did: %v", changes)
			}
		})
	}
}

// TestLeavesMadeByOthers lets the right authority sign leaves that say the right names, and something more.
func TestLeavesMadeByOthers(t *testing.T) {
	original := newFixture(t, start)
	ca, problem := loadAuthority(original.bundle, "ca", start)
	if problem != nil {
		t.Fatal(problem)
	}
	cases := map[string]struct {
		reason string
		alter  func(*x509.Certificate)
	}{
		"NoKeyUsage": {reason: "no key usage means any, also signing users", alter: func(c *x509.Certificate) { c.KeyUsage = 0 }},
		"Same":       {reason: "the control: it need not be ours", alter: func(*x509.Certificate) {}},
		"KeyUsage":   {reason: "further key usage", alter: func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageKeyEncipherment }},
		"Authority": {
			reason: "a user who could sign users", alter: func(c *x509.Certificate) { c.IsCA = true; c.BasicConstraintsValid = true },
		},
		"URI":   {reason: "a name of a kind that we do not use", alter: func(c *x509.Certificate) { c.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} }},
		"Mail":  {reason: "another one", alter: func(c *x509.Certificate) { c.EmailAddresses = []string{"a@example.org"} }},
		"Usage": {reason: "a usage that is not TLS", alter: func(c *x509.Certificate) { c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageCodeSigning) }},
		"UnknownUsage": {
			reason: "an unknown usage", alter: func(c *x509.Certificate) { c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 2, 3}} },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := original.copy()
			template := &x509.Certificate{
				SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
				NotBefore: start, NotAfter: start.Add(leafLife), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
			}
			tc.alter(template)
			key, err := parseKey(f.bundle["admin.key"])
			if err != nil {
				t.Fatal(err)
			}
			der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
			if err != nil {
				t.Fatal(err)
			}
			f.bundle["admin.crt"] = pem.EncodeToMemory(&pem.Block{Type: typeCertificate, Bytes: der})
			want := []Change{{Name: "admin", Reason: Differs}}
			if name == "Same" {
				want = nil
			}
			if _, changes := issue(t, f.bundle, f.want, f.signers, start.Add(time.Hour)); !cmp.Equal(want, changes, ignoreDetail) {
				t.Errorf("%s: want %v, got %v", tc.reason, want, changes)
			}
			_, _, err = Issue(Bundle{"ca.crt": f.bundle["admin.crt"], "ca.key": f.bundle["admin.key"]}, f.want, f.signers, start.Add(time.Hour))
			var trust *TrustError
			if !errors.As(err, &trust) || trust.Reason != Unreadable {
				t.Errorf("as an authority: want it refused as unreadable, got %v", err)
			}
		})
	}
}
