package join

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// nodeFolder is a node's folder with the record and what programs have left beside it.
func nodeFolder(t *testing.T) Place {
	t.Helper()
	place := Place(filepath.Join(t.TempDir(), "node"))
	if err := place.Save(&Record{Node: "a"}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"zz/deep/image", "containerd/image", statusFile} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(place.file(file)), 0o700), os.WriteFile(place.file(file), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return place
}

// TestPlaceGoes: nothing of the node's own folder stays, but a disk that the operator has mounted there does.
func TestPlaceGoes(t *testing.T) {
	for name, mounted := range map[string]bool{"its own folder": false, "the operator's disk": true} {
		place := nodeFolder(t)
		if err := os.Mkdir(place.file(lostAndFound), 0o700); err != nil {
			t.Fatal(err)
		}
		l := &Leaving{Place: place, Record: &Record{}}
		var want []string
		if mounted {
			l.Record.Before.Mounts, want = []string{"/", string(place)}, []string{lostAndFound}
		}
		if err := l.place(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		entries, err := os.ReadDir(string(place))
		var left []string
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if diff := cmp.Diff(want, left); diff != "" || errors.Is(err, fs.ErrNotExist) == mounted {
			t.Errorf("%s: %v; what is left (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestMountsInTheWay: nothing is removed around what is still mounted, so that the record is there to go on with; what
// was mounted before stays.
func TestMountsInTheWay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts")
	}
	place := nodeFolder(t)
	at := place.file("containerd")
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, ""); err != nil {
		t.Skipf("this machine lets the tests mount nothing: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	l := &Leaving{Place: place, Record: &Record{}}
	if err := l.place(); err == nil || !strings.Contains(err.Error(), at+" is still mounted") {
		t.Errorf("got %v, want what is mounted named", err)
	}
	for _, file := range []string{recordFile, "zz/deep/image", statusFile} {
		if _, err := os.Stat(place.file(file)); err != nil {
			t.Errorf("removed around what is mounted: %v", err)
		}
	}
	mounted := func() bool {
		all, err := mounts()
		if err != nil {
			t.Fatal(err)
		}
		return len(within(all, []string{at}, nil)) > 0
	}
	if err := unmount([]string{string(place)}, []string{at}); err != nil || !mounted() {
		t.Errorf("what was mounted before is taken away: %v", err)
	}
	if err := unmount([]string{string(place)}, nil); err != nil || mounted() {
		t.Errorf("what the node has mounted stays: %v", err)
	}
	if err := l.place(); err != nil {
		t.Errorf("once more, with nothing in the way: %v", err)
	}
	if _, err := os.Stat(string(place)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

// TestGoes: of a machine that has just joined goes what is the node's own, and nothing that was there before.
func TestGoes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root sees the packet filter")
	}
	before, err := Remember()
	if err != nil {
		t.Fatal(err)
	}
	place := nodeFolder(t)
	l := &Leaving{Place: place, Record: &Record{Node: "test-that-never-joined", Before: before}}
	got, err := l.Goes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"programs: containerd, kubelet, kube-proxy, image-importer",
		"rules: those of kube-proxy in the packet filter",
		"files: " + string(place) + ", " + StateDir,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLeavingWithoutPrograms: where releases were removed, what leaving cannot do well any more is told.
func TestLeavingWithoutPrograms(t *testing.T) {
	l := &Leaving{Place: nodeFolder(t), Record: &Record{Node: "a", Releases: t.TempDir(), Cluster: Cluster{Version: "v1.36.3"}}}
	for name, do := range map[string]func(context.Context) error{"pods": l.pods, "rules": l.rules} {
		if err := do(t.Context()); err == nil || !strings.Contains(err.Error(), "the programs of Kubernetes v1.36.3 are not in "+l.Record.Releases) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRetry: an act that the kernel refuses for a moment is tried again, and its own error is told when the time is up.
func TestRetry(t *testing.T) {
	busy := errors.New("device is busy")
	tries := 0
	err := retry(t.Context(), func() error {
		if tries++; tries == 1 {
			return busy
		}
		return nil
	})
	if err != nil || tries != 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := retry(ended, func() error { return busy }); !errors.Is(err, busy) {
		t.Errorf("got %v, want why it could not be done", err)
	}
}
