package release

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShared: what is built can be read and run by every user and written by none but its owner, whatever mask the owner has,
// also what an earlier KQueen has built.
func TestShared(t *testing.T) {
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)
	s := NewStore(filepath.Join(t.TempDir(), "store"))
	at := slot{name: "v1.2.3", folder: "v1.2.3", version: mustVersion(t, "v1.2.3"), files: []string{"a"}}
	make := func() {
		t.Helper()
		unlock, err := s.lock(t.Context(), at.name, func(Step) {})
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
		if _, err := s.fill(t.Context(), at, stub{"a"}, func(Step) {}); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(s.dir, at.folder)
	looks := func() map[string]fs.FileMode {
		found := map[string]fs.FileMode{}
		for _, path := range []string{folder, filepath.Join(folder, "a"), filepath.Join(folder, manifestName)} {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			found[filepath.Base(path)] = info.Mode().Perm()
		}
		return found
	}
	want := map[string]fs.FileMode{at.folder: 0o755, "a": 0o755, manifestName: 0o644}
	make()
	if diff := cmp.Diff(want, looks()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for path, mode := range map[string]fs.FileMode{folder: 0o700, filepath.Join(folder, "a"): 0o777, filepath.Join(folder, manifestName): 0o600, s.dir: 0o700} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	make()
	if diff := cmp.Diff(want, looks()); diff != "" {
		t.Errorf("of an earlier KQueen (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(s.dir); err != nil || os.Geteuid() == 0 && info.Mode().Perm() != 0o755 {
		t.Errorf("the store of root has mode %v, %v", info.Mode(), err)
	}
}

// TestDefaultDir: a user who has built nothing uses what root has built, and builds into a folder of their own.
func TestDefaultDir(t *testing.T) {
	base := t.TempDir()
	system, own := filepath.Join(base, "system"), filepath.Join(base, "cache", "kqueen", "releases")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(base, "cache"))
	t.Setenv(dirVariable, "")
	expect := func(when string, root bool, want string) {
		t.Helper()
		if got, err := defaultDir(root, system); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", when, got, err, want)
		}
	}
	expect("nothing is built", false, own)
	expect("root", true, system)
	built(t, system)
	expect("root has built", false, system)
	if got, err := ownDir(false, system); err != nil || got != own {
		t.Errorf("built into %s, %v", got, err)
	}
	built(t, own)
	expect("both have built", false, own)
	t.Setenv(dirVariable, filepath.Join(base, "said"))
	expect("the user has said", false, filepath.Join(base, "said"))
}

// built puts a release into a store.
func built(t *testing.T, dir string) {
	t.Helper()
	s, v := NewStore(dir), mustVersion(t, "v1.36.3")
	unlock, err := s.lock(t.Context(), v.String(), func(Step) {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := s.fill(t.Context(), slot{v.String(), v.String(), v, controlPlaneComponents}, stub(controlPlaneComponents), func(Step) {}); err != nil {
		t.Fatal(err)
	}
}
