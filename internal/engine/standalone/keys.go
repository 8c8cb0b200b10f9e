//go:build linux

package standalone

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"kqueen.io/kqueen/internal/hosting/pki"
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
	return got, WriteFile(file, data)
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
	return key, WriteFile(file, key)
}

// WriteFile writes a file of mode 0600 that is there as a whole or not at all, also after a power failure.
func WriteFile(name string, data []byte) error {
	if have, err := os.ReadFile(name); err == nil && bytes.Equal(have, data) {
		return nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(tmp.Name()))
	}
	return syncDir(filepath.Dir(name))
}

func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
