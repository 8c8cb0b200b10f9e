package join

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/workers/machine"
)

// TestRecord: what a machine keeps is root's alone, whole, and says so when it is damaged.
func TestRecord(t *testing.T) {
	place := Place(filepath.Join(t.TempDir(), "node"))
	if r, err := place.Record(); r != nil || err != nil {
		t.Fatalf("a machine that has not joined keeps %v, %v", r, err)
	}
	want := &Record{Node: "a", Address: netip.MustParseAddr("198.51.100.1"), Token: goodToken, Before: Before{Folders: map[string][]string{"/etc/cni": {}}}}
	if err := place.Save(want); err != nil {
		t.Fatal(err)
	}
	got, err := place.Record()
	if err != nil {
		t.Fatal(err)
	}
	compareAddresses := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	comparePrefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(want, got, compareAddresses, comparePrefixes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for path, mode := range map[string]os.FileMode{string(place): 0o700, place.file(recordFile): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v; want %v, for it holds a token", path, info.Mode(), err, mode)
		}
	}
	if err := os.WriteFile(place.file(recordFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := place.Record(); err == nil || !strings.Contains(err.Error(), recordFile) {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestStatus(t *testing.T) {
	place := Place(t.TempDir())
	if got, err := place.Status(); err != nil || got != (machine.Observed{}) {
		t.Errorf("before anybody has said: %+v, %v", got, err)
	}
	want := machine.Observed{State: machine.Failing, Message: "boom"}
	if err := place.write(statusFile, want); err != nil {
		t.Fatal(err)
	}
	if got, err := place.Status(); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}
