package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/osthread"
)

// TestKeepsWhatMountsHide: where a machine has its own /opt, the host's folders and its program there stay visible, and
// nothing else does.
func TestKeepsWhatMountsHide(t *testing.T) {
	needRoot(t)
	opt := filepath.Join(t.TempDir(), "opt")
	files := map[string]string{
		filepath.Join(opt, "bin", "kqueen"): "the program", filepath.Join(opt, "data", "deep", "file"): "in a folder",
		filepath.Join(opt, "others", "file"): "not ours",
	}
	for file, content := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	kept := []string{filepath.Join(opt, "bin", "kqueen"), filepath.Join(opt, "data")}
	seen := make(chan error, 1)
	osthread.Spend(func() { seen <- hide(opt, kept, files) }) // its mounts go with it
	if err := <-seen; err != nil {
		t.Error(err)
	}
}

// hide mounts an empty folder, shows again what is kept, and looks at the files in the namespace of the calling thread.
func hide(folder string, keep []string, files map[string]string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	kept, err := openAll(keep)
	if err != nil {
		return err
	}
	defer closeAll(kept)
	if err := (Mount{Kind: "tmpfs", Target: folder}).make(); err != nil {
		return err
	}
	for _, k := range kept {
		if err := k.show(); err != nil {
			return fmt.Errorf("keep %s: %w", k.path, err)
		}
	}
	var wrong []error
	for file, want := range files {
		got, err := os.ReadFile(file)
		if want == "not ours" {
			if !errors.Is(err, fs.ErrNotExist) {
				wrong = append(wrong, fmt.Errorf("%s, which is not kept: %q, %w", file, got, err))
			}
			continue
		}
		if err != nil || string(got) != want {
			wrong = append(wrong, fmt.Errorf("%s: %q, %w", file, got, err))
		}
	}
	return errors.Join(wrong...)
}
