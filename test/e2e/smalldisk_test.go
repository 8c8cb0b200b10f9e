//go:build linux

package e2e

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/osthread"
)

// testSmallDisk starts KQueen on a disk of 64 MiB, and a little for its logs.
func testSmallDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	i := newInstallation(t)
	if err := os.Mkdir(i.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var said result
	ended := make(chan error, 1)
	// With the thread end the namespace and the disk in it.
	osthread.Spend(func() {
		err := mountSmall(i.dir)
		if err == nil {
			said = i.kqueen("up")
		}
		ended <- err
	})
	if err := <-ended; err != nil {
		t.Skipf("a small disk has to be mounted, and this machine does not allow that to its root (a container without CAP_SYS_ADMIN): %v", err)
	}
	golden(t, i, "not-enough-disk", i.replaced(said))
}

// mountSmall mounts a small disk where only this thread and its children see it.
func mountSmall(dir string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=65792k,mode=0700"); err != nil {
		return fmt.Errorf("mount a small disk: %w", err)
	}
	return nil
}
