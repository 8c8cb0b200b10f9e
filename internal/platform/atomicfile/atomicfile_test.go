package atomicfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/atomicfile/powerloss"
)

// TestPowerLoss: the power goes before each call in turn. What is found then is the old file or the new one, and the
// new one whenever the writer was told that it is there.
func TestPowerLoss(t *testing.T) {
	const name = "/a/b/file"
	for calls := 0; ; calls++ {
		disk := powerloss.New(-1)
		if err := errors.Join(atomicfile.Folder(disk, "/a/b", 0o700), atomicfile.WriteOn(disk, name, []byte("old"), 0o600)); err != nil {
			t.Fatal(err)
		}
		disk.Calls = calls
		err := atomicfile.WriteOn(disk, name, []byte("new"), 0o600)
		if err != nil && !errors.Is(err, powerloss.ErrOff) {
			t.Fatal(err)
		}
		got, _ := disk.Read(name)
		if text := string(got); text != "new" && (err == nil || text != "old") {
			t.Errorf("power for %d calls: the file has %q after %v", calls, got, err)
		}
		if err == nil {
			return
		}
	}
}

// TestFirstWrite: a file in a folder that was not there lasts, too, once Write has returned.
func TestFirstWrite(t *testing.T) {
	disk := powerloss.New(-1)
	err := errors.Join(atomicfile.Folder(disk, "/a/b/c", 0o700), atomicfile.WriteOn(disk, "/a/b/c/file", []byte("new"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := disk.Read("/a/b/c/file"); string(got) != "new" {
		t.Errorf("the file has %q", got)
	}
	if diff := cmp.Diff([]string{"/", "/a", "/a/b", "/a/b/c", "/a/b/c/file"}, disk.Names()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, mode := range []fs.FileMode{0o600, 0o666, 0o444, 0o755} {
		if err := atomicfile.Write(path, []byte(mode.String()), mode); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		info, _ := os.Stat(path)
		if err != nil || string(got) != mode.String() || info.Mode().Perm() != mode {
			t.Errorf("got %q, mode %v, %v; want it with mode %v", got, info.Mode(), err, mode)
		}
	}
	alone(t, dir)
}

func TestWriteFromFails(t *testing.T) {
	dir, boom := t.TempDir(), errors.New("boom")
	path := filepath.Join(dir, "file")
	if err := atomicfile.Write(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := atomicfile.WriteFrom(path, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, "ne")
		return errors.Join(err, boom)
	})
	if got, _ := os.ReadFile(path); !errors.Is(err, boom) || string(got) != "old" {
		t.Errorf("got %q after %v", got, err)
	}
	alone(t, dir)
}

// TestRooted: what a program plants in its folder does not lead out of it.
func TestRooted(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "way")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	disk := atomicfile.Rooted{Root: root}
	if err := atomicfile.WriteOn(disk, "way/file", nil, 0o600); err == nil {
		t.Error("wrote outside")
	}
	err = errors.Join(atomicfile.Folder(disk, "a/b", 0o700), atomicfile.WriteOn(disk, "a/b/file", []byte("new"), 0o640), atomicfile.WriteOn(disk, "top", nil, 0o600))
	if got, _ := os.ReadFile(filepath.Join(dir, "a", "b", "file")); err != nil || string(got) != "new" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFolderOfFile(t *testing.T) {
	dir := t.TempDir()
	if err := atomicfile.Write(filepath.Join(dir, "not", "there"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want that the folder is not there, got %v", err)
	}
	for range 2 {
		if err := atomicfile.Folder(atomicfile.Host{}, filepath.Join(dir, "a", "b"), 0o700); err != nil {
			t.Error(err)
		}
	}
}

// alone fails when a file lies in the folder beside the one.
func alone(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("want the file alone, got %v, %v", entries, err)
	}
}
