package confine

import (
	"os"
	"path/filepath"
	"testing"
)

// TestShare: a program that was installed for its owner alone can be run by others, and no other mode is changed.
func TestShare(t *testing.T) {
	for mode, want := range map[os.FileMode]os.FileMode{0o700: 0o755, 0o755: 0o755, 0o555: 0o555, 0o750: 0o755} {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := Share(path); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%04o became %v, %v; want %04o", mode, info.Mode(), err, want)
		}
	}
}
