//go:build linux

package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"kqueen.io/kqueen/internal/hosting/pki"
)

// APIAuthority reads the authority that signs the certificate of the REST API, in PEM, from the keys in dir. A user who
// can do that owns the installation, and need not be asked whether it is the right one.
func APIAuthority(dir string) ([]byte, error) {
	data, err := os.ReadFile(apiKeysFile(dir))
	if err != nil {
		return nil, fmt.Errorf("read the keys of the REST API: %w", err)
	}
	var keys pki.Bundle
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, fmt.Errorf("read the keys of the REST API: %w", err)
	}
	if len(keys["ca.crt"]) == 0 {
		return nil, errors.New("read the keys of the REST API: there is no authority")
	}
	return keys["ca.crt"], nil
}
