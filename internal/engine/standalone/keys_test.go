//go:build linux

package standalone

import (
	"bytes"
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// notes is a ledger in memory.
type notes map[string]map[string]string

func (n notes) Roots(file string) map[string]string { return n[file] }

func (n notes) Note(file string, roots map[string]string) error {
	n[file] = maps.Clone(roots)
	return nil
}

// TestKeysAreNotMadeAgain: keys on which data or users depend are made once. When they are gone or damaged, the error names the
// file, none are written, and the right ones are taken again. Keys of which others do as well are made again.
func TestKeysAreNotMadeAgain(t *testing.T) {
	damages := map[string]func(file string) error{
		"Missing":   os.Remove,
		"Empty":     func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"Truncated": func(file string) error { return os.Truncate(file, 20) },
		"Garbage":   func(file string) error { return os.WriteFile(file, []byte("\x00garbage"), 0o600) },
		"Directory": func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
	}
	ledgers := map[string]func() pki.Ledger{
		"": func() pki.Ledger { return notes{} },
		// An earlier version noted nothing, but there is data.
		"AfterUpgrade": func() pki.Ledger { return pki.Forgetful{} },
	}
	for file, again := range map[string]bool{storeKeysFile: false, adminStoreKeysFile: false, adminKeysFile: false, encryptionKeyFile: false, "webhooks.json": true} {
		for name, damage := range damages {
			for suffix, ledger := range ledgers {
				t.Run(file+name+suffix, func(t *testing.T) {
					dir, problems := t.TempDir(), []error{}
					host := engine.Host{
						Dir: dir, AuditLog: filepath.Join(dir, "audit", "audit.log"), Domain: "kqueen.internal", AdvertiseAddress: netip.MustParseAddr("192.0.2.1"),
						Trust: ledger(), Problem: func(_ string, err error) { problems = append(problems, err) },
					}
					if err := (&bringUp{Host: host}).keys(t.Context()); err != nil {
						t.Fatal(err)
					}
					path := filepath.Join(dir, "keys", file)
					good, err := os.ReadFile(path)
					if err = errors.Join(err, os.MkdirAll(filepath.Join(dir, storeFolder, member), 0o700), os.MkdirAll(filepath.Join(dir, adminStoreFolder, member), 0o700), damage(path)); err != nil {
						t.Fatal(err)
					}
					before, _ := os.ReadFile(path)
					err = (&bringUp{Host: host}).keys(t.Context())
					if again {
						if err != nil || len(problems) == 0 && name != "Missing" {
							t.Errorf("got %v and the problems %v, want that it is made again, and that this is told", err, problems)
						}
						return
					}
					if damaged, ok := errors.AsType[*atomicfile.DamagedError](err); !ok || damaged.Path != path {
						t.Errorf("got %v, want that %s is damaged", err, path)
					}
					if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
						t.Error("it was written")
					}
					if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, good, 0o600)); err != nil {
						t.Fatal(err)
					}
					if err := (&bringUp{Host: host}).keys(t.Context()); err != nil {
						t.Errorf("with the right file back: %v", err)
					}
				})
			}
		}
	}
}
