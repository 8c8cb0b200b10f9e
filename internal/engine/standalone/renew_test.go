//go:build linux

package standalone

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/pki"
)

// taken says how each credential of the engine is taken anew once it was renewed, by its name in a file of keys.
var taken = map[string]string{
	"store.json/server":      "etcd reads it again for each connection",
	"store.json/peer":        "etcd reads it again for each connection",
	"store.json/root":        "reconcilers read the Secret that is written when it was renewed",
	"store-gate.json/server": "the gate reads it again for each connection",

	"admin-store.json/server": "etcd reads it again for each connection",
	"admin-store.json/peer":   "etcd reads it again for each connection",
	"admin-store.json/root":   "each look after the etcd opens a connection with the latest",

	"admin.json/apiserver":                "the API server follows the file",
	"admin.json/apiserver-kubelet-client": "the API server follows the file",
	"admin.json/front-proxy-client":       "the API server follows the file",
	"admin.json/controller-manager":       "the controller manager is restarted with it",
	"admin.json/scheduler":                "the admin plane has none",
	"admin.json/etcd-client":              "the API server reads it again for each connection",
	"admin.json/admin":                    "it is in the administrator's kubeconfig, which is written anew",
	"admin.json/kqueen":                   "KQueen's clients follow the file",

	"webhooks.json/client": "the API server reads it again for each connection",
}

// TestCredentialsOfAMinute: every credential of the engine that has a minute left is renewed by the next look, by the same
// authority, and the table above has each. A new one that is not in it fails: say there how it is taken.
func TestCredentialsOfAMinute(t *testing.T) {
	dir := t.TempDir()
	look := func() map[string]pki.Bundle {
		t.Helper()
		u := &bringUp{Host: engine.Host{
			Dir: dir, AuditLog: filepath.Join(dir, "audit", "audit.log"), Domain: "kqueen.internal", AdvertiseAddress: netip.MustParseAddr("192.0.2.1"),
			Trust: notes{}, Problem: func(part string, err error) { t.Errorf("%s: %v", part, err) },
		}}
		gate, err := pki.StoreGate("default")
		if err = errors.Join(err, u.keys(t.Context())); err != nil {
			t.Fatal(err)
		}
		if _, err := u.replaceable("store gate", filepath.Join(dir, "keys", "store-gate.json"), gate); err != nil {
			t.Fatal(err)
		}
		return bundles(t, dir)
	}
	before := look()
	short := map[string]*x509.Certificate{}
	for file, bundle := range before {
		for name, leaf := range leaves(t, bundle) {
			shortened := shorten(t, leaf, before)
			bundle[name+".crt"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: shortened})
			short[file+"/"+name] = leaf
		}
		data, err := json.Marshal(bundle)
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "keys", file), data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(taken)), slices.Sorted(maps.Keys(short))); diff != "" {
		t.Errorf("credentials of the engine (-table +found):\n%s", diff)
	}
	for file, bundle := range look() {
		for name, leaf := range leaves(t, bundle) {
			was := short[file+"/"+name]
			if was == nil || time.Until(leaf.NotAfter) < 24*time.Hour || leaf.Issuer.String() != was.Issuer.String() || leaf.Subject.String() != was.Subject.String() {
				t.Errorf("%s of %s is that of %s by %s until %s", name, file, leaf.Subject, leaf.Issuer, leaf.NotAfter)
			}
		}
	}
}

// bundles are the files of keys.
func bundles(t *testing.T, dir string) map[string]pki.Bundle {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "keys", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no keys: %v", err)
	}
	all := map[string]pki.Bundle{}
	for _, file := range files {
		bundle := pki.Bundle{}
		data, err := os.ReadFile(file)
		if err := errors.Join(err, json.Unmarshal(data, &bundle)); err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		all[filepath.Base(file)] = bundle
	}
	return all
}

// leaves are the certificates of a bundle that sign nothing, by name.
func leaves(t *testing.T, bundle pki.Bundle) map[string]*x509.Certificate {
	t.Helper()
	found := map[string]*x509.Certificate{}
	for file, data := range bundle {
		name, ok := strings.CutSuffix(file, ".crt")
		if !ok {
			continue
		}
		block, _ := pem.Decode(data)
		if block == nil {
			t.Fatalf("%s is no PEM", file)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !certificate.IsCA {
			found[name] = certificate
		}
	}
	return found
}

// shorten signs a certificate again by its own authority, with a minute left.
func shorten(t *testing.T, leaf *x509.Certificate, in map[string]pki.Bundle) []byte {
	t.Helper()
	for _, bundle := range in {
		for file := range bundle {
			name, _ := strings.CutSuffix(file, ".crt")
			pair, err := tls.X509KeyPair(bundle[name+".crt"], bundle[name+".key"])
			if err != nil || leaf.CheckSignatureFrom(pair.Leaf) != nil {
				continue
			}
			left := *leaf
			left.NotAfter = time.Now().Add(time.Minute)
			signed, err := x509.CreateCertificate(rand.Reader, &left, pair.Leaf, leaf.PublicKey, pair.PrivateKey)
			if err != nil {
				t.Fatal(err)
			}
			return signed
		}
	}
	t.Fatalf("%s has no authority", leaf.Subject)
	return nil
}
