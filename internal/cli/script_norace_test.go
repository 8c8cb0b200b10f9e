//go:build linux && !race

package cli

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// commandsFrom returns the folder in which kqueen is this test binary.
func commandsFrom(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("kqueen") // testscript.Main put it there
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}
