package procroot

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSocketsOfOthers: a process that plants a symbolic link in place of its socket or its folder leads the caller nowhere else.
func TestSocketsOfOthers(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	conn, err := Dial(t.Context(), os.Getpid(), filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	folder, err := Open(os.Getpid(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := folder.Readdirnames(-1); err != nil || len(names) != 1 {
		t.Errorf("in the folder are %q, %v", names, err)
	}
	_ = folder.Close()
	for link, to := range map[string]string{"socket": filepath.Join(dir, "s"), "folder": dir} {
		if err := os.Symlink("/proc/self/root"+to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if conn, err := Dial(t.Context(), os.Getpid(), filepath.Join(dir, "socket")); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a magic link was followed: %v, %v", conn, err)
	}
	if folder, err := Open(os.Getpid(), filepath.Join(dir, "folder")); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a magic link was followed: %v, %v", folder, err)
	}
}
