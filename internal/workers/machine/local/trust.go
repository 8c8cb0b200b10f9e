//go:build linux

package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"kqueen.io/kqueen/internal/workers/node"
)

// trustedBy are the authorities that the programs of the machine in a directory are to trust now, when wanted are those of its cluster.
func trustedBy(dir string, wanted []byte) ([]byte, error) {
	before, err := os.ReadFile(filepath.Join(dir, shown(node.FileCA)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what the machine trusts: %w", err)
	}
	good, err := node.GoodFor(filepath.Join(dir, "root", "lib"))
	if err != nil {
		return nil, fmt.Errorf("read for which authorities the machine has certificates: %w", err)
	}
	return node.Settled(wanted, before, good), nil
}
