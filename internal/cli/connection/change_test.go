package connection

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/cli/exit"
)

// TestChangeContexts: the file is changed whole, for its user alone, where a link leads to; or it stays as it is.
func TestChangeContexts(t *testing.T) {
	add := func(known *Contexts) error {
		known.Put(Context{Name: "c", Server: "https://c.example", Token: "tc"})
		return nil
	}
	refused := errors.New("refused")
	cases := map[string]struct {
		text   string
		change func(*Contexts) error
		want   string // of the error
	}{
		"changed": {twoContexts, add, ""},
		"refused": {twoContexts, func(known *Contexts) error { known.Contexts = nil; return refused }, "refused"},
		"damaged": {damaged, add, "it is not a file of contexts"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			real := contexts(t, c.text)
			link := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.Symlink(real, link); err != nil {
				t.Fatal(err)
			}
			t.Setenv(ConfigVariable, link)
			err := ChangeContexts(t.Context(), c.change)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			text, err := os.ReadFile(real)
			if err != nil {
				t.Fatal(err)
			}
			if changed := string(text) != c.text; changed != (c.want == "") {
				t.Errorf("the file is %q", text)
			}
			wantFiles(t, filepath.Dir(real), "config.yaml")
			if target, err := os.Readlink(link); err != nil || target != real {
				t.Errorf("the link leads to %q: %v", target, err)
			}
		})
	}
}

// TestFirstContext: the first context makes the folder, and neither is for others.
func TestFirstContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config.yaml")
	t.Setenv(ConfigVariable, path)
	if err := ChangeContexts(t.Context(), func(known *Contexts) error {
		known.Put(Context{Name: "b", Server: "https://b.example"})
		known.Put(Context{Name: "a", Server: "https://a.example"})
		known.Put(Context{Name: "b", Server: "https://b.example", Token: "t"})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	known, err := ReadContexts(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []Context{{Name: "a", Server: "https://a.example"}, {Name: "b", Server: "https://b.example", Token: "t"}}
	if diff := cmp.Diff(want, known.Contexts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode().Perm(), err, mode)
		}
	}
}

// wantFiles wants a folder to hold these files and no others.
func wantFiles(t *testing.T, folder string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestLockFile: a command that waits for another one gives up in time, says on what it waited, and ends when its user
// interrupts it.
func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := LockFile(t.Context(), path, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockFile(t.Context(), path, time.Millisecond); exit.CodeOf(err) != exit.TimedOut || !strings.Contains(err.Error(), "another kqueen holds "+path) {
		t.Errorf("got %v, want that it timed out", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := LockFile(ctx, path, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was interrupted", err)
	}
	unlock()
	unlock, err = LockFile(t.Context(), path, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if _, err := LockFile(t.Context(), filepath.Join(path, "x"), time.Minute); err == nil || !strings.Contains(err.Error(), "lock ") {
		t.Errorf("got %v, want that there is no such folder", err)
	}
}
