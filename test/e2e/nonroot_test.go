//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestNonRoot is the first day of a user without any privilege.
func TestNonRoot(t *testing.T) {
	parallel(t, 1*time.Minute)
	if os.Geteuid() != 0 {
		t.Skip("who runs the tests is not root already: TestFirstCluster shows it")
	}
	const nobody = 65534
	i := newInstallation(t)
	i.as = &syscall.Credential{Uid: nobody, Gid: nobody}
	i.releases = filepath.Join(i.base, "releases")
	shareReleases(t, filepath.Join(programs.releases, programs.version), filepath.Join(i.releases, programs.version))
	err := filepath.WalkDir(i.base, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
	firstCluster(t, i, func(*installation) {})
}

// shareReleases copies the programs of a version for another user, who may not enter root's folder.
func shareReleases(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := filepath.Join(from, e.Name())
		if target, err := os.Readlink(name); err == nil {
			if err := os.Symlink(target, filepath.Join(to, e.Name())); err != nil {
				t.Fatal(err)
			}
			continue
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if err := copyFile(name, filepath.Join(to, e.Name()), info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
}
