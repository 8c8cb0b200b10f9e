//go:build linux

package app

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/hosting/pki"
)

// TestAPICertificateOfAMinute: the certificate of the REST API that has a minute left is renewed by the next look, by the authority that
// clients pin, and the server that runs presents it to the next client.
func TestAPICertificateOfAMinute(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := &App{Config: Config{Dir: dir, Domain: "k.example", Listen: netip.MustParseAddr("127.0.0.1")}, settings: &settings{}}
	d := &apiServer{}
	if err := a.renewAPIKeys(d); err != nil {
		t.Fatal(err)
	}
	authority := d.authority
	for _, short := range []bool{false, true, false} {
		before := d.certificate.Load().Certificate[0]
		if short {
			shortenAPI(t, dir)
		}
		if err := a.renewAPIKeys(d); err != nil {
			t.Fatal(err)
		}
		now := d.certificate.Load().Certificate[0]
		leaf, err := x509.ParseCertificate(now)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(before, now) == short || time.Until(leaf.NotAfter) < 24*time.Hour || !bytes.Equal(d.authority, authority) {
			t.Errorf("with a minute left: %t; the certificate is another one: %t, good until %s, by the same authority: %t",
				short, !bytes.Equal(before, now), leaf.NotAfter, bytes.Equal(d.authority, authority))
		}
	}
}

// shortenAPI leaves a minute to the certificate of the REST API.
func shortenAPI(t *testing.T, dir string) {
	t.Helper()
	file, keys := apiKeysFile(dir), pki.Bundle{}
	data, err := os.ReadFile(file)
	if err := errors.Join(err, json.Unmarshal(data, &keys)); err != nil {
		t.Fatal(err)
	}
	signer, err := tls.X509KeyPair(keys["ca.crt"], keys["ca.key"])
	if err != nil {
		t.Fatal(err)
	}
	own, err := tls.X509KeyPair(keys[apiKeys+".crt"], keys[apiKeys+".key"])
	if err != nil {
		t.Fatal(err)
	}
	left := *own.Leaf
	left.NotAfter = time.Now().Add(time.Minute)
	der, err := x509.CreateCertificate(rand.Reader, &left, signer.Leaf, own.Leaf.PublicKey, signer.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	keys[apiKeys+".crt"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	data, err = json.Marshal(keys)
	if err := errors.Join(err, os.WriteFile(file, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}
