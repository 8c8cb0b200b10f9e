//go:build linux

package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"kqueen.io/kqueen/internal/hosting/pki"
)

// DoorAuthority reads what the certificate of the REST API comes from, in PEM, from the keys in dir. Who can do that owns
// the installation, and need not be asked whether it is the right one.
func DoorAuthority(dir string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, "keys", "door.json"))
	if err != nil {
		return nil, fmt.Errorf("read the keys of the door: %w", err)
	}
	var keys pki.Bundle
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, fmt.Errorf("read the keys of the door: %w", err)
	}
	if len(keys["ca.crt"]) == 0 {
		return nil, errors.New("read the keys of the door: there is no authority")
	}
	return keys["ca.crt"], nil
}
