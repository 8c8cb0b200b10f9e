package pki

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// notes is a ledger in memory.
type notes map[string]map[string]string

func (n notes) Roots(file string) map[string]string { return n[file] }

func (n notes) Note(file string, roots map[string]string) error {
	n[file] = maps.Clone(roots)
	return nil
}

// damages are what may become of a file.
var damages = map[string]func(t *testing.T, file string){
	"Missing":   func(t *testing.T, file string) { t.Helper(); check(t, os.Remove(file)) },
	"Empty":     func(t *testing.T, file string) { t.Helper(); check(t, os.WriteFile(file, nil, 0o600)) },
	"Truncated": func(t *testing.T, file string) { t.Helper(); check(t, os.Truncate(file, 20)) },
	"Garbage": func(t *testing.T, file string) {
		t.Helper()
		check(t, os.WriteFile(file, []byte("\x00\xffgarbage"), 0o600))
	},
	"Directory": func(t *testing.T, file string) {
		t.Helper()
		check(t, errors.Join(os.Remove(file), os.Mkdir(file, 0o700)))
	},
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRootsOfTrustAreNotMadeAgain: keys that were made once and are gone, damaged or others are an error that names the file
// and what helps, and nothing is written. The right ones are taken again.
func TestRootsOfTrustAreNotMadeAgain(t *testing.T) {
	set := Set{
		Authorities: []Authority{{Name: "ca", CommonName: "ca", Lifetime: 48 * time.Hour}},
		Leaves:      []Leaf{{Name: "user", Authority: "ca", CommonName: "user", Usage: Client, Lifetime: 24 * time.Hour}},
	}
	kinds := map[string]func(file string, ledger Ledger) error{
		"Bundle": func(file string, ledger Ledger) error { _, err := IssueFile(file, set, nil, ledger); return err },
		"Secret": func(file string, ledger Ledger) error { _, err := SecretKey(file, ledger); return err },
	}
	for kind, get := range kinds {
		all := maps.Clone(damages)
		all["Another"] = func(t *testing.T, file string) {
			t.Helper()
			check(t, os.Remove(file))
			check(t, get(file, notes{}))
		}
		for name, damage := range all {
			t.Run(kind+name, func(t *testing.T) {
				ledger, file := notes{}, filepath.Join(t.TempDir(), "keys")
				check(t, get(file, ledger))
				good, err := os.ReadFile(file)
				check(t, err)
				damage(t, file)
				before, _ := os.ReadFile(file)
				err = get(file, ledger)
				if damaged, ok := errors.AsType[*atomicfile.DamagedError](err); !ok || damaged.Path != file || !strings.Contains(err.Error(), "restore it from a backup") {
					t.Errorf("got %v, want that %s is damaged, and what helps", err, file)
				}
				if after, _ := os.ReadFile(file); !bytes.Equal(after, before) {
					t.Error("it was written")
				}
				check(t, os.RemoveAll(file))
				check(t, os.WriteFile(file, good, 0o600))
				if err := get(file, ledger); err != nil {
					t.Errorf("the right one is refused: %v", err)
				}
			})
		}
	}
}

// TestLeavesAreMadeAgain: what the roots of trust can make again needs no backup.
func TestLeavesAreMadeAgain(t *testing.T) {
	f := newFixture(t, time.Now())
	ledger, file := notes{}, filepath.Join(t.TempDir(), "keys")
	made, err := IssueFile(file, f.want, f.signers, ledger)
	check(t, err)
	again, err := IssueFile(file, f.want, f.signers, ledger)
	check(t, err)
	if !again.Equal(made) {
		t.Error("keys that are good were made again")
	}
	if len(ledger["keys"]) == 0 {
		t.Error("nothing was noted")
	}
}

// TestRootsFollowTheKey: a certificate that is made again from its key is no other root of trust.
func TestRootsFollowTheKey(t *testing.T) {
	set := Set{Authorities: []Authority{{Name: "ca", CommonName: "ca", Lifetime: 48 * time.Hour}}, SigningKeys: []string{"sa"}}
	made, _, err := Issue(nil, set, nil, time.Now())
	check(t, err)
	want := made.Roots(set)
	if len(want) != 2 || !strings.HasPrefix(want["ca"], "sha256:") {
		t.Fatalf("got %v", want)
	}
	again, _, err := Issue(Bundle{"ca.key": made["ca.key"], "sa.key": made["sa.key"]}, set, nil, time.Now())
	check(t, err)
	if got := again.Roots(set); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := (Bundle{"ca.crt": []byte("x"), "sa.key": nil}).Roots(set); len(got) != 0 {
		t.Errorf("got %v of what cannot be read", got)
	}
}
