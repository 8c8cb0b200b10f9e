package node

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/tools/clientcmd"

	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/workers/machine"
)

func TestSettled(t *testing.T) {
	wanted, before := []byte("new\nold\n"), []byte("old\n")
	for name, tc := range map[string]struct {
		before []byte
		good   string
		want   []byte
	}{
		"NewNode":       {nil, "", wanted},
		"NotYet":        {before, "", before},
		"GoodForBefore": {before, machine.TrustHash(before), before},
		"Followed":      {before, machine.TrustHash(wanted), wanted},
		"SaysNonsense":  {before, "sha256:00", before},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Settled(wanted, tc.before, tc.good); !bytes.Equal(got, tc.want) {
				t.Errorf("it trusts %q, want %q", got, tc.want)
			}
		})
	}
}

// TestGoodFor: whatever pods have put where the node says it, nothing else is read or waited for.
func TestGoodFor(t *testing.T) {
	good := machine.TrustHash([]byte("ca"))
	for name, tc := range map[string]struct {
		put  func(t *testing.T, file string) error
		want string
	}{
		"Nothing": {func(*testing.T, string) error { return nil }, ""},
		"Hash":    {func(_ *testing.T, file string) error { return os.WriteFile(file, []byte(good+"\n"), 0o600) }, good},
		"Nonsense": {func(_ *testing.T, file string) error {
			return os.WriteFile(file, []byte(strings.Repeat("x", 1<<20)), 0o600)
		}, ""},
		"Pipe":   {func(_ *testing.T, file string) error { return unix.Mkfifo(file, 0o600) }, ""},
		"Folder": {func(_ *testing.T, file string) error { return os.Mkdir(file, 0o700) }, ""},
		"LinkOut": {func(t *testing.T, file string) error {
			outside := filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(outside, []byte(good), 0o600); err != nil {
				return err
			}
			return os.Symlink(outside, file)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			lib := t.TempDir()
			certs := filepath.Join(lib, "kubelet", "pki")
			if err := os.MkdirAll(certs, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := tc.put(t, filepath.Join(certs, fileTrusts)); err != nil {
				t.Fatal(err)
			}
			if got, err := GoodFor(lib); err != nil || got != tc.want {
				t.Errorf("it is good for %q (%v), want %q", got, err, tc.want)
			}
		})
	}
	if got, err := GoodFor(filepath.Join(t.TempDir(), "none")); err != nil || got != "" {
		t.Errorf("without the folder: %q, %v", got, err)
	}
}

// TestRenewalWithoutNeed: a node whose certificates are those of the first authority calls no cluster: it trusts all, and says so. It is
// how the last step of a rotation goes.
func TestRenewalWithoutNeed(t *testing.T) {
	leaf := func(name string, usage pki.Usage) pki.Leaf {
		return pki.Leaf{Name: name, Authority: "ca", CommonName: "system:node:a", Usage: usage, DNSNames: []string{"a"}, Lifetime: time.Hour}
	}
	keys, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "ca", Lifetime: time.Hour}},
		Leaves:      []pki.Leaf{leaf("kubelet-server", pki.Server), leaf("kubelet-client", pki.Client)},
	}, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := Renewal{Authorities: filepath.Join(dir, FileAuthorities), Kubeconfig: filepath.Join(dir, "kubeconfig"), Certs: dir, Log: slog.New(slog.DiscardHandler)}
	files := map[string][]byte{r.Authorities: keys["ca.crt"]}
	for _, name := range []string{"kubelet-server", "kubelet-client"} {
		files[filepath.Join(dir, name+"-current.pem")] = append(append([]byte{}, keys[name+".crt"]...), keys[name+".key"]...)
	}
	for file, data := range files {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.follow(t.Context()); err == nil || !strings.Contains(err.Error(), "no identity yet") {
		t.Errorf("without an identity: %v", err)
	}
	other := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("old")})
	config, err := Bootstrap("192.0.2.1:1", other, "token")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.Kubeconfig, config, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, fileTrusts))
	if err != nil || strings.TrimSpace(string(data)) != machine.TrustHash(keys["ca.crt"]) {
		t.Errorf("it says that it is good for %q: %v", data, err)
	}
	read, err := clientcmd.LoadFromFile(r.Kubeconfig)
	if err != nil || !bytes.Equal(read.Clusters["bootstrap"].CertificateAuthorityData, keys["ca.crt"]) {
		t.Errorf("the kubeconfig names another authority: %v", err)
	}
	if _, err := tls.LoadX509KeyPair(filepath.Join(dir, "kubelet-client-current.pem"), filepath.Join(dir, "kubelet-client-current.pem")); err != nil {
		t.Errorf("its certificate is another one: %v", err)
	}
}
