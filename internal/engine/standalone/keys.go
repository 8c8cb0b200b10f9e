//go:build linux

package standalone

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// storeAuthority is the name of the store's authority among the signers of the admin plane's certificates.
const storeAuthority = "store-ca"

// encryptionKeyLength is what secretbox takes, in bytes.
const encryptionKeyLength = 32

// Issue completes and renews the bundle in file, which holds all of it, so that no crash can tear it.
func Issue(file string, want pki.Set, signers pki.Bundle) (pki.Bundle, error) {
	have := pki.Bundle{}
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		if err := json.Unmarshal(data, &have); err != nil {
			return nil, fmt.Errorf("read %s: %w; restore it from a backup", file, err)
		}
	}
	got, changes, err := pki.Issue(have, want, signers, time.Now())
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return got, nil
	}
	if data, err = json.Marshal(got); err != nil {
		return nil, fmt.Errorf("encode %s: %w", file, err)
	}
	return got, atomicfile.Write(file, data, 0o600)
}

// SecretKey reads the key of 32 bytes in file, or makes one.
func SecretKey(file string) ([]byte, error) {
	key, err := os.ReadFile(file)
	if err == nil {
		if len(key) != encryptionKeyLength {
			return nil, fmt.Errorf("%s: has %d bytes, want %d; restore it from a backup", file, len(key), encryptionKeyLength)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	key = make([]byte, encryptionKeyLength)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, atomicfile.Write(file, key, 0o600)
}
