package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeep: what is as it should be is not written, everything else is; a folder in its place is kept.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	inode := func() os.FileInfo {
		t.Helper()
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	keep := func(text string) {
		t.Helper()
		if err := Keep(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text || inode().Mode() != 0o600 {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	keep("a")
	before := inode()
	if keep("a"); !os.SameFile(before, inode()) {
		t.Error("it was written again")
	}
	if keep("b"); os.SameFile(before, inode()) {
		t.Error("it was not written")
	}
	before = inode()
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if keep("b"); os.SameFile(before, inode()) {
		t.Error("others may read it")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	keep("c")
	if found, err := filepath.Glob(Asides(file)); err != nil || len(found) != 1 {
		t.Errorf("the folder is %v, %v", found, err)
	}
}

// TestSetAside: what is set aside is found again under its new name, and its error names both.
func TestSetAside(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if _, err := SetAside(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v of what is not there", err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	aside, err := SetAside(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(aside); err != nil || string(got) != "x" {
		t.Errorf("got %q, %v", got, err)
	}
	if found, err := filepath.Glob(Asides(file)); err != nil || len(found) != 1 || found[0] != aside {
		t.Errorf("found %v, %v, want %s", found, err, aside)
	}
}
