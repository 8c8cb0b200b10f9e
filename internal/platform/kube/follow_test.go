package kube_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"kqueen.io/kqueen/internal/platform/kube"
)

// expiring is an authority whose certificates live for as long as is asked for.
type expiring struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (e *expiring) issue(t *testing.T, serial int64, life time.Duration, authority bool) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "kqueen"}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true, IsCA: authority,
	}
	if authority {
		template.KeyUsage |= x509.KeyUsageCertSign
		e.cert, e.key = template, private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, e.cert, &private.PublicKey, e.key)
	if err != nil {
		t.Fatal(err)
	}
	if authority {
		if e.cert, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// TestFollowCertificate: a client goes on after its certificate has expired when another one was put in its place, also on a
// connection that was open, which API servers refuse then.
func TestFollowCertificate(t *testing.T) {
	usual := transport.CertCallbackRefreshDuration
	if usual != kube.CertificateLook {
		t.Errorf("the client library looks every %s, not every %s", usual, kube.CertificateLook)
	}
	kube.LookForCertificates(50 * time.Millisecond)
	t.Cleanup(func() { kube.LookForCertificates(usual) })
	authority := &expiring{}
	authority.issue(t, 1, time.Hour, true)
	trusted := x509.NewCertPool()
	trusted.AddCert(authority.cert)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if time.Now().After(r.TLS.PeerCertificates[0].NotAfter) { // as API servers do with each request
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted}
	server.StartTLS()
	t.Cleanup(server.Close)

	const life = 2 * time.Second
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "own.crt"), filepath.Join(dir, "own.key")
	put := func(serial int64, life time.Duration) (cert, key []byte) {
		t.Helper()
		cert, key = authority.issue(t, serial, life, false)
		if err := errors.Join(os.WriteFile(keyFile, key, 0o600), os.WriteFile(certFile, cert, 0o600)); err != nil {
			t.Fatal(err)
		}
		return cert, key
	}
	cert, key := put(2, life)
	ends := time.Now().Add(life)
	config := func() *rest.Config {
		return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{
			CertData: cert, KeyData: key, CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		}}
	}
	following := config()
	kube.FollowCertificate(following, certFile, keyFile)
	follows, keeps := clientOf(t, following), clientOf(t, config())
	ask := func(c *http.Client) int {
		t.Helper()
		resp, err := c.Get(server.URL)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if a, b := ask(follows), ask(keeps); a != http.StatusOK || b != http.StatusOK {
		t.Fatalf("at first they get %d and %d", a, b)
	}
	put(3, time.Hour)
	<-time.After(time.Until(ends.Add(100 * time.Millisecond))) // the certificate's own clock: nothing tells of its end
	deadline := time.Now().Add(10 * time.Second)
	for ask(follows) != http.StatusOK {
		if time.Now().After(deadline) {
			t.Fatal("with another certificate in its place, it is refused")
		}
	}
	if got := ask(keeps); got == http.StatusOK {
		t.Errorf("without, it gets %d: the server does not look", got)
	}
}

func clientOf(t *testing.T, config *rest.Config) *http.Client {
	t.Helper()
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
