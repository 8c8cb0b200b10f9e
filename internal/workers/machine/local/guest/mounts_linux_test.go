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

// TestMountsHideTheHost: a machine that has its own /opt sees there what it is to keep of the host's, be it a folder or
// its program, and what the host's store there brings into an overlay; and nothing else.
func TestMountsHideTheHost(t *testing.T) {
	needRoot(t)
	seen := make(chan error, 1)
	host := t.TempDir()
	osthread.Spend(func() { seen <- machineIn(host) }) // its mounts go with it
	if err := <-seen; err != nil {
		t.Error(err)
	}
}

// machineIn makes the mounts of a machine whose host is a folder, in a namespace of the calling thread.
func machineIn(host string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := (Mount{Kind: "tmpfs", Target: host}).make(); err != nil { // which can be part of an overlay, whatever disk is there
		return err
	}
	at := func(names ...string) string { return filepath.Join(append([]string{host}, names...)...) }
	own, program, store := at("data", "own"), at("opt", "bin", "kqueen"), at("opt", "store")
	before := map[string]string{
		program:                       "the program",
		at("opt", "store", "kubelet"): "of a release", at("opt", "store", "cni", "bridge"): "a plugin",
		at("opt", "others", "file"): "not the machine's",
	}
	for file, content := range before {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			return err
		}
	}
	err := makeMounts([]Mount{
		{Kind: "bind", Source: filepath.Join(own, "opt"), Target: at("opt")},
		{Kind: "overlay", Source: filepath.Join(store, "cni"), Upper: filepath.Join(own, "cni"), Target: at("opt", "cni", "bin")},
	}, []string{program, store})
	if err != nil {
		return err
	}
	plugin := at("opt", "cni", "bin", "flannel")
	wrong := []error{os.WriteFile(plugin, []byte("installed"), 0o600)}
	for file, want := range map[string]string{
		program: before[program], filepath.Join(store, "kubelet"): "of a release", at("opt", "cni", "bin", "bridge"): "a plugin",
		plugin: "installed", at("opt", "others", "file"): "", filepath.Join(store, "cni", "flannel"): "",
	} {
		got, err := os.ReadFile(file)
		if string(got) != want || errors.Is(err, fs.ErrNotExist) != (want == "") {
			wrong = append(wrong, fmt.Errorf("%s: got %q, want %q: %w", file, got, want, err))
		}
	}
	return errors.Join(wrong...)
}
