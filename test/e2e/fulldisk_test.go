//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// wholeDisk is the size of a disk that an installation of its own has.
const wholeDisk = "size=4g"

// onOwnDisk makes an installation whose data directory is a disk in memory, where this machine allows that to its root, and says
// whether it is.
func onOwnDisk(t *testing.T) (i *installation, own bool) {
	t.Helper()
	i = newInstallation(t)
	if os.Geteuid() != 0 {
		return i, false
	}
	if err := os.Mkdir(i.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", i.dir, "tmpfs", 0, wholeDisk+",mode=0700"); err != nil {
		t.Logf("without a disk of its own: %v", err)
		return i, false
	}
	t.Cleanup(func() { // before the installation's own end, for which nothing is left then
		if t.Failed() {
			i.logTail()
		}
		if r := i.kqueen("reset", "--yes"); r.code != 0 {
			t.Errorf("reset: %s", r.stderr)
		}
		if err := unix.Unmount(i.dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return i, true
}

// fill leaves nothing of the disk of a directory, and returns what gives it back.
func fill(t *testing.T, dir string) (empty func()) {
	t.Helper()
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		t.Fatal(err)
	}
	used := (disk.Blocks - disk.Bfree) * uint64(disk.Bsize)
	// What is there alone, and a little that the ballast takes: nothing has to be written for a large disk to be full.
	if err := unix.Mount("tmpfs", dir, "", unix.MS_REMOUNT, fmt.Sprintf("size=%d", used+16<<20)); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	err := os.WriteFile(ballast, make([]byte, 64<<20), 0o600)
	empty = func() {
		if err := errors.Join(os.Remove(ballast), unix.Mount("tmpfs", dir, "", unix.MS_REMOUNT, wholeDisk)); err != nil {
			t.Error(err)
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		empty()
		t.Fatalf("the disk is not full: %v", err)
	}
	return empty
}

// fillDisk fills the disk while a client reads through the gateway: it goes on reading, also while KQueen ends and cannot start, the status says
// what is wrong, and with space again all is as before.
func fillDisk(t *testing.T, i *installation) {
	tenant := clientset(t, i.tenant("default", "demo"))
	if err := readOnce(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan error, 1)
	go func() { read <- readOn(ctx, tenant) }()
	empty := fill(t, i.dir)
	emptied := false
	defer func() {
		cancel()
		if !emptied {
			empty()
		}
	}()
	problem := "PROBLEM: not enough disk: " + i.dir
	eventually(t, "the status tells of the full disk", func(context.Context) error {
		if r := i.kqueen("status"); r.code != 0 || !strings.Contains(r.stdout, problem) {
			return fmt.Errorf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
		}
		return nil
	})
	i.halt()
	for range 3 { // as a service manager has it
		if r := i.kqueen("up", "--timeout", "20s"); r.code == 0 || !strings.Contains(r.stderr, "no space left on device") || !strings.Contains(r.stderr, i.dir) {
			t.Errorf("on a full disk it starts: exit code %d: %s", r.code, r.stderr)
		}
	}
	cancel()
	if err := <-read; err != nil {
		t.Errorf("while the disk was full and KQueen did not start a client of the gateway got: %v", err)
	}
	empty()
	emptied = true
	i.up()
	begin := time.Now()
	eventually(t, "the cluster takes writes again", func(ctx context.Context) error {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "after-the-flood-"}}
		_, err := tenant.CoreV1().ConfigMaps(corev1.NamespaceDefault).Create(ctx, made, metav1.CreateOptions{})
		return err
	})
	t.Logf("writes were taken %.1fs after there was space again", time.Since(begin).Seconds())
	eventually(t, "the status is silent", func(context.Context) error {
		if said := i.ok("status"); strings.Contains(said, problem) {
			return fmt.Errorf("the status says:\n%s", said)
		}
		return nil
	})
	i.ok("cluster", "wait", "demo", "--timeout", "5m")
}

// readOnce reads what the API server has in memory: an etcd whose disk is full may be away.
func readOnce(ctx context.Context, tenant *kubernetes.Clientset) error {
	_, err := tenant.CoreV1().ConfigMaps(corev1.NamespaceDefault).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	return err
}

// readOn reads ten times a second until ctx ends, and returns the first failure.
func readOn(ctx context.Context, tenant *kubernetes.Clientset) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := readOnce(ctx, tenant); err != nil && ctx.Err() == nil {
			return err
		}
	}
}
