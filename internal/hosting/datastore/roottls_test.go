package datastore_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// TestRootTLS: without an authority, or with a key that is not the certificate's, there is no connection; the host's own
// authorities must not be trusted instead.
func TestRootTLS(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"root", "other"} {
		if err := env.ca.writePair(name, at(name+".crt"), at(name+".key")); err != nil {
			t.Fatal(err)
		}
	}
	if err := env.ca.write(at("ca.crt")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("none"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for name, c := range map[string]struct{ ca, cert, key, want string }{
		"good":           {"ca.crt", "root.crt", "root.key", ""},
		"another's key":  {"ca.crt", "root.crt", "other.key", "the root user's certificate and key: "},
		"no certificate": {"ca.crt", "none", "root.key", "the root user's certificate and key: "},
		"no authority":   {"none", "root.crt", "root.key", "the authority holds no certificate"},
		"key as one":     {"root.key", "root.crt", "root.key", "the authority holds no certificate"},
	} {
		got, err := datastore.RootTLS(read(c.ca), read(c.cert), read(c.key))
		if c.want != "" {
			if err == nil || got != nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", name, err, c.want)
			}
			continue
		}
		if err != nil || got.RootCAs == nil || len(got.Certificates) != 1 || got.MinVersion != tls.VersionTLS13 {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}
