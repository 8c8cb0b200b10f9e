//go:build linux

package app

import (
	"bytes"
	"crypto/x509"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/stage"
)

// done keeps the names of the steps that have ended.
func done(names *[]string) func(stage.Step) {
	return func(s stage.Step) {
		if s.Done {
			*names = append(*names, s.Name)
		}
	}
}

// TestAPIKeysStay: clients pin the authority of the REST API, so that every start finds the one of before, whatever it
// listens on; and its owner reads it from the data directory. Keys that are damaged are an error and stay.
func TestAPIKeysStay(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	start := func(listen string) (*apiServer, error) {
		d := &apiServer{}
		a := &App{Config: Config{Dir: dir, Domain: "k.example", Listen: netip.MustParseAddr(listen)}, settings: &settings{}}
		return d, a.renewAPIKeys(d)
	}
	if _, err := APIAuthority(dir); err == nil || !strings.Contains(err.Error(), "read the keys of the REST API") {
		t.Errorf("before the first start: %v", err)
	}
	first, err := start("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	moved, err := start("192.0.2.7")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.authority, moved.authority) {
		t.Error("the authority is another one")
	}
	sent := moved.certificate.Load().Certificate
	leaf, err := x509.ParseCertificate(sent[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"192.0.2.7", "127.0.0.1", "localhost", "api.k.example"} {
		if err := leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	if top, err := x509.ParseCertificate(sent[len(sent)-1]); err != nil || !top.IsCA {
		t.Errorf("the authority does not go along with the certificate: %v", err)
	}
	read, err := APIAuthority(dir)
	if err != nil || !bytes.Equal(read, first.authority) {
		t.Errorf("its owner reads another authority (%v)", err)
	}
	if file, err := os.ReadFile(filepath.Join(dir, authorityFile)); err != nil || !bytes.Equal(file, first.authority) {
		t.Errorf("%s is another authority (%v)", authorityFile, err)
	}
	for _, text := range []string{"", `{"ca.crt":`, `{}`} {
		if err := os.WriteFile(apiKeysFile(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := APIAuthority(dir); err == nil || !strings.Contains(err.Error(), "read the keys of the REST API") {
			t.Errorf("%q: got %v, want that there is no authority", text, err)
		}
	}
	if err := os.WriteFile(apiKeysFile(dir), []byte(`{"ca.crt":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := start("127.0.0.1"); err == nil || !strings.Contains(err.Error(), "restore it from a backup") {
		t.Errorf("damaged keys: got %v", err)
	}
	if left, err := os.ReadFile(apiKeysFile(dir)); err != nil || string(left) != `{"ca.crt":` {
		t.Errorf("damaged keys were written over: %v", err)
	}
}

// TestVerifyAuditExport: an export is checked with the key that is there and with no other, and what was cut off is not
// whole.
func TestVerifyAuditExport(t *testing.T) {
	const hint = "run it there, as its owner"
	dir := t.TempDir()
	if _, _, err := VerifyAuditExport(dir, strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "there is no key of an audit log in "+dir) || !strings.Contains(err.Error(), hint) {
		t.Errorf("got %v, want that there is no key, and where one is", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "keys")); !os.IsNotExist(err) {
		t.Errorf("a key was made, which checks nothing: %v", err)
	}
	path := filepath.Join(dir, "keys", "audit.key")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := pki.SecretKey(path, pki.Forgetful{}); err != nil {
		t.Fatal(err)
	}
	report, _, err := VerifyAuditExport(dir, strings.NewReader(""))
	if err != nil || len(report.Problems) == 0 {
		t.Errorf("got %+v, %v, want that the seal is missing", report, err)
	}
	if _, _, err := VerifyAuditExport(dir, strings.NewReader("hello\n")); err == nil || !strings.Contains(err.Error(), "line 1") || strings.Contains(err.Error(), hint) {
		t.Errorf("got %v, want that line 1 is none of an export", err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := VerifyAuditExport(dir, strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "restore it from a backup") {
		t.Errorf("got %v, want that the key is damaged", err)
	}
}

// running is an engine that runs one workload on this host.
type running struct{ existing }

func (running) Workloads() []engine.Workload { return []engine.Workload{{ID: "etcd"}} }

// TestNoticesDoNotBlock: what the supervisor tells of the engine's own workload is for the engine, which may be busy, and
// the supervisor is not held up.
func TestNoticesDoNotBlock(t *testing.T) {
	n := newNotices(running{})
	for range 3 {
		n.workload("etcd")
	}
	if len(n.own) != 1 {
		t.Errorf("the engine is told %d times at once, want once", len(n.own))
	}
	<-n.own
	for range 3 {
		n.workload("5b2f0c1e")
	}
	if len(n.own) != 0 {
		t.Error("the engine is told of the workload of a tenant")
	}
}
