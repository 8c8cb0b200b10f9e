//go:build linux

package standalone

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/stage"
)

// built are releases of these versions.
func built(t *testing.T, versions ...string) []release.Binaries {
	t.Helper()
	var all []release.Binaries
	for _, text := range versions {
		version, err := release.ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, release.Binaries{Version: version})
	}
	return all
}

// TestChoose: the admin plane gets the newest Kubernetes to which its data may be raised, and is never lowered.
func TestChoose(t *testing.T) {
	cases := map[string]struct {
		last      string
		installed []string
		want      string
		problem   string
	}{
		"the first time":        {"", []string{"v1.36.9", "v1.35.4", "v1.36.10"}, "v1.36.10", ""},
		"the same":              {"v1.36.9", []string{"v1.36.9", "v1.35.4"}, "v1.36.9", ""},
		"a newer patch":         {"v1.36.9", []string{"v1.36.10", "v1.36.9"}, "v1.36.10", ""},
		"one minor at a time":   {"v1.35.4", []string{"v1.37.0", "v1.36.9", "v1.35.4"}, "v1.36.9", ""},
		"the present one went":  {"v1.35.4", []string{"v1.36.9"}, "v1.36.9", ""},
		"older ones alone":      {"v1.36.9", []string{"v1.36.8", "v1.35.4"}, "", "no Kubernetes that can follow v1.36.9 of the admin plane is on this machine"},
		"too new ones alone":    {"v1.35.4", []string{"v1.37.0"}, "", "no Kubernetes that can follow v1.35.4 of the admin plane is on this machine"},
		"none":                  {"", nil, "", "no Kubernetes is on this machine"},
		"none any more":         {"v1.36.9", nil, "", "no Kubernetes that can follow v1.36.9 of the admin plane is on this machine"},
		"the settings are torn": {"1.", []string{"v1.36.9"}, "", "version of the admin plane: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := choose(c.last, built(t, c.installed...))
			if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Fatalf("got %v, want %q", err, c.problem)
			}
			if err == nil && got.Version.String() != c.want {
				t.Errorf("got %s, want %s", got.Version, c.want)
			}
		})
	}
}

// TestUpRefuses: what has no programs, or cannot remember which it runs, starts nothing: a start that is not remembered
// could be followed by one of an older version.
func TestUpRefuses(t *testing.T) {
	full := errors.New("no space left on device")
	cases := map[string]struct {
		installed []release.Binaries
		want      string
	}{
		"no programs":      {nil, "no Kubernetes is on this machine; build one with: kqueen release build (in /releases)"},
		"the disk is full": {built(t, "v1.36.9"), full.Error()},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := New().Up(t.Context(), engine.Host{
				Dir: t.TempDir(), Releases: "/releases", Installed: c.installed,
				RememberVersion: func(string) error { return full },
				Report:          func(s stage.Step) { t.Errorf("step %s began", s.Name) },
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestWorkloads: etcd is stopped last, because an API server that outlives it writes nothing but errors, and what is a
// tenant's is none of them.
func TestWorkloads(t *testing.T) {
	own := New().Workloads()
	if own[len(own)-1].ID != WorkloadStore {
		t.Errorf("the last one to be stopped is %s, want %s", own[len(own)-1].ID, WorkloadStore)
	}
	for id, want := range map[string]bool{WorkloadAdmin: true, WorkloadStore: true, WorkloadAdminStore: true, WorkloadEgress: true, WorkloadGate: true, "": false, "5b2f0c1e": false} {
		if got := engine.Owns(New(), id); got != want {
			t.Errorf("it owns %q: %t, want %t", id, got, want)
		}
	}
}

// TestApart: a new installation's admin plane has an etcd of its own; one from before finds its objects where they are; and
// one whose keys are lost does not begin anew.
func TestApart(t *testing.T) {
	cases := map[string]struct{ keys, data, shared, want, lost bool }{
		"new":                             {want: true},
		"new, and killed before it began": {keys: true, want: true},
		"running":                         {keys: true, data: true, shared: true, want: true},
		"from before":                     {shared: true},
		"killed before tenants have one":  {keys: true, data: true, want: true},
		"without its keys":                {data: true, shared: true, want: true},
		"without its data":                {keys: true, shared: true, want: true, lost: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, lost := apart(c.keys, c.data, c.shared)
			if got != c.want || lost != c.lost {
				t.Errorf("got %t (lost: %t), want %t (lost: %t)", got, lost, c.want, c.lost)
			}
		})
	}
}

// TestKeysStay: a start finds the keys of the one before. What is damaged is an error and stays as it is: other keys in its
// place would lock out every client, and lose what is encrypted.
func TestKeysStay(t *testing.T) {
	dir := t.TempDir()
	start := func() (*bringUp, error) {
		u := &bringUp{Host: engine.Host{
			Dir: dir, AuditLog: filepath.Join(dir, "audit", "audit.log"), Domain: "kqueen.internal", AdvertiseAddress: netip.MustParseAddr("192.0.2.1"),
			Trust: pki.Forgetful{}, Problem: func(string, error) {},
		}}
		err := u.keys(t.Context())
		return u, err
	}
	first, err := start()
	if err != nil {
		t.Fatal(err)
	}
	again, err := start()
	if err != nil {
		t.Fatal(err)
	}
	if first.adminStoreKeys == nil || !cmp.Equal(first.adminStoreKeys, again.adminStoreKeys) || !cmp.Equal(first.storeKeys, again.storeKeys) || !cmp.Equal(first.adminKeys, again.adminKeys) || !bytes.Equal(first.encryptionKey, again.encryptionKey) {
		t.Error("the second start has other keys")
	}
	for file, want := range map[string]string{"store.json": "keys of the data store", adminStoreKeysFile: "keys of the admin plane's data store", "admin.json": "keys of the admin plane", "encryption.key": "restore it from a backup"} {
		path := filepath.Join(dir, "keys", file)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		half := whole[:len(whole)/2]
		if err := os.WriteFile(path, half, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := start(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is damaged: got %v, want %q", file, err, want)
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, half) {
			t.Errorf("%s was written over (%v)", file, err)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
