package pki

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// secretLength is what secretbox takes, in bytes.
const secretLength = 32

// Ledger remembers which roots of trust were made for which file, by their fingerprints, so that none that is lost is made
// again without a word. It is kept elsewhere than the files.
type Ledger interface {
	// Roots returns what was noted of the file of that name; nothing for one that was never made.
	Roots(file string) map[string]string
	// Note keeps it. It is called after the file was written.
	Note(file string, roots map[string]string) error
}

// Forgetful is the ledger for keys of which others do as well. It notes nothing.
type Forgetful struct{}

// Roots implements [Ledger].
func (Forgetful) Roots(string) map[string]string { return nil }

// Note implements [Ledger].
func (Forgetful) Note(string, map[string]string) error { return nil }

// rootSecret is the name of the one root of trust in the file of a secret key.
const rootSecret = "key"

// IssueFile is Issue for the bundle in file, which holds all of it, so that no crash can tear it. A root of trust that the
// ledger knows and the file does not have is an [*atomicfile.DamagedError], and so is a file that cannot be read; nothing is
// written then.
func IssueFile(file string, want Set, signers Bundle, ledger Ledger) (Bundle, error) {
	have := Bundle{}
	data, err := read(file)
	if err != nil {
		return nil, err
	}
	if data != nil && json.Unmarshal(data, &have) != nil { // its error could quote a key
		return nil, damaged(file, "holds no keys that can be read")
	}
	if err := distrust(file, ledger.Roots(filepath.Base(file)), have.Roots(want), data != nil); err != nil {
		return nil, err
	}
	got, changes, err := Issue(have, want, signers, time.Now())
	if broken, ok := errors.AsType[*TrustError](err); ok && !broken.External {
		return nil, damaged(file, "cannot be used: "+broken.Error())
	}
	if err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		if data, err = json.Marshal(got); err != nil {
			return nil, fmt.Errorf("encode %s: %w", file, err)
		}
		if err := atomicfile.Write(file, data, 0o600); err != nil {
			return nil, err
		}
	}
	return got, ledger.Note(filepath.Base(file), got.Roots(want))
}

// SecretKey reads the key of 32 bytes in file, or makes one. One that the ledger knows and that is gone, or is another one,
// is an [*atomicfile.DamagedError].
func SecretKey(file string, ledger Ledger) ([]byte, error) {
	known := ledger.Roots(filepath.Base(file))
	key, err := ReadSecretKey(file)
	if errors.Is(err, fs.ErrNotExist) && len(known) == 0 {
		return newSecretKey(file, ledger)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged(file, "is gone")
	}
	if err != nil {
		return nil, err
	}
	have := map[string]string{rootSecret: SecretFingerprint(key)}
	if err := distrust(file, known, have, true); err != nil {
		return nil, err
	}
	return key, ledger.Note(filepath.Base(file), have)
}

// ReadSecretKey reads the key of 32 bytes in file. One that is not there is an [fs.ErrNotExist].
func ReadSecretKey(file string) ([]byte, error) {
	key, err := read(file)
	if err != nil {
		return nil, err
	}
	if key == nil {
		return nil, fmt.Errorf("read %s: %w", file, fs.ErrNotExist)
	}
	if len(key) != secretLength {
		return nil, damaged(file, fmt.Sprintf("has %d bytes, want %d", len(key), secretLength))
	}
	return key, nil
}

func newSecretKey(file string, ledger Ledger) ([]byte, error) {
	key := make([]byte, secretLength)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	if err := atomicfile.Write(file, key, 0o600); err != nil {
		return nil, err
	}
	return key, ledger.Note(filepath.Base(file), map[string]string{rootSecret: SecretFingerprint(key)})
}

// read returns nil for a file that is not there.
func read(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, damaged(file, "cannot be read: "+err.Error())
	}
	return append([]byte{}, data...), nil // empty, and not nil, for an empty file
}

// distrust compares the roots of trust in a file with those that were noted of it. It is pure.
func distrust(file string, known, have map[string]string, there bool) error {
	if len(known) > 0 && !there {
		return damaged(file, "is gone")
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		fingerprint := known[name]
		switch have[name] {
		case fingerprint:
		case "":
			return damaged(file, fmt.Sprintf("lacks %q (%s), or it cannot be read", name, fingerprint))
		default:
			return damaged(file, fmt.Sprintf("has another %q than this installation was made with (%s, want %s)", name, have[name], fingerprint))
		}
	}
	return nil
}

func damaged(file, problem string) error {
	return &atomicfile.DamagedError{Path: file, Problem: problem, Remedy: "no other is made, because what was made with it could not be used any more: restore it from a backup"}
}
