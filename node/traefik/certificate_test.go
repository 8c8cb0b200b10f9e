package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/safe"
)

func TestReadPair(t *testing.T) {
	one, other := newPair(t), newPair(t)
	tests := map[string]struct {
		files map[string][]byte
		want  pair
		fails bool
	}{
		"None":       {},
		"Both":       {files: map[string][]byte{"tls.crt": one.certificate, "tls.key": one.key}, want: one},
		"NoKey":      {files: map[string][]byte{"tls.crt": one.certificate}, fails: true},
		"OtherKey":   {files: map[string][]byte{"tls.crt": one.certificate, "tls.key": other.key}, fails: true},
		"NoPEMBlock": {files: map[string][]byte{"tls.crt": []byte("x"), "tls.key": one.key}, fails: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := readPair(dir)
			if (err != nil) != tc.fails {
				t.Errorf("error: %v", err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(pair{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestProvideFollowsTheVolume replaces the files as a kubelet does: a new folder, to which a link is turned.
func TestProvideFollowsTheVolume(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pool := safe.NewPool(ctx)
	t.Cleanup(func() { cancel(); pool.Stop() })
	dir, sent := t.TempDir(), make(chan dynamic.Message)
	if err := (&defaultCertificate{Directory: dir}).Provide(sent, pool); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"..1", "..2", "..3"} {
		want := newPair(t)
		replaceVolume(t, dir, version, want)
		if got := receive(t, sent); got != string(want.certificate) {
			t.Errorf("%s: got %q, want %q", version, got, want.certificate)
		}
	}
	replaceVolume(t, dir, "..4", pair{})
	if got := receive(t, sent); got != "" {
		t.Errorf("the certificate stays after its files: %q", got)
	}
}

// receive returns the certificate of the next configuration, or "" when it has none.
func receive(t *testing.T, sent <-chan dynamic.Message) string {
	t.Helper()
	select {
	case message := <-sent:
		if found := message.Configuration.TLS.Stores["default"].DefaultCertificate; found != nil {
			return found.CertFile.String()
		}
	case <-time.After(time.Minute):
		t.Fatal("no configuration was sent")
	}
	return ""
}

// replaceVolume leaves no files for an empty pair.
func replaceVolume(t *testing.T, dir, version string, p pair) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(dir, version), 0o700))
	for name, data := range map[string][]byte{"tls.crt": p.certificate, "tls.key": p.key} {
		if len(data) > 0 {
			must(os.WriteFile(filepath.Join(dir, version, name), data, 0o600))
		}
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			must(os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
		}
	}
	must(os.Symlink(version, filepath.Join(dir, "..data_tmp")))
	must(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
}

// newPair returns a certificate that has expired: it is not verified here.
func newPair(t *testing.T) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: t.Name()}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, data []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}) }
	return pair{block("CERTIFICATE", certificate), block("PRIVATE KEY", private)}
}
