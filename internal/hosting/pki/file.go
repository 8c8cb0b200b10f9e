package pki

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// secretLength is what secretbox takes, in bytes.
const secretLength = 32

// IssueFile is Issue for the bundle in file, which holds all of it, so that no crash can tear it.
func IssueFile(file string, want Set, signers Bundle) (Bundle, error) {
	have := Bundle{}
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		if err := json.Unmarshal(data, &have); err != nil {
			return nil, fmt.Errorf("read %s: %w; restore it from a backup", file, err)
		}
	}
	got, changes, err := Issue(have, want, signers, time.Now())
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
		if len(key) != secretLength {
			return nil, fmt.Errorf("%s: has %d bytes, want %d; restore it from a backup", file, len(key), secretLength)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	key = make([]byte, secretLength)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, atomicfile.Write(file, key, 0o600)
}
