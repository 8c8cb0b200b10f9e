package join

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/atomicfile/powerloss"
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
		t.Errorf("before the supervisor has said: %+v, %v", got, err)
	}
	want := machine.Observed{State: machine.Failing, Message: "boom"}
	if err := place.write(atomicfile.Host{}, statusFile, want); err != nil {
		t.Fatal(err)
	}
	if got, err := place.Status(); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestEmpty: a folder in which something lies is no node's, since it would go with the node.
func TestEmpty(t *testing.T) {
	for name, c := range map[string]struct {
		names []string
		holds string
	}{
		"an empty folder":      {nil, ""},
		"a disk":               {[]string{"lost+found/"}, ""},
		"a crash before":       {[]string{".node.json.ABCDEFGH.tmp"}, ""},
		"a user's folder":      {[]string{"lost+found/", "thesis.tex"}, "thesis.tex"},
		"another user's":       {[]string{".ssh/"}, ".ssh"},
		"the folder of a node": {[]string{"workloads/"}, "workloads"},
	} {
		place := Place(t.TempDir())
		for _, entry := range c.names {
			write := func(file string) error { return os.WriteFile(file, nil, 0o600) }
			if strings.HasSuffix(entry, "/") {
				write = func(file string) error { return os.Mkdir(file, 0o700) }
			}
			if err := write(filepath.Join(string(place), entry)); err != nil {
				t.Fatal(err)
			}
		}
		want := ""
		if c.holds != "" {
			want = string(place) + " holds " + c.holds + ", and all that it holds goes when the machine leaves; choose a new or an empty folder with --dir"
		}
		said := ""
		if err := place.Empty(); err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("%s: got %q, want %q", name, said, want)
		}
	}
	if err := Place(filepath.Join(t.TempDir(), "new")).Empty(); err != nil {
		t.Errorf("a new folder: %v", err)
	}
	file := Place(filepath.Join(t.TempDir(), "file"))
	if err := os.WriteFile(string(file), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := file.Empty(); err == nil || !strings.HasPrefix(err.Error(), "look into the folder of the node: ") {
		t.Errorf("a file: %v", err)
	}
}

// TestRecordOutlivesPowerLoss: the power goes before each call to the disk in turn. A machine that was told that its
// record is written has it afterwards, so that it can leave; before that it has no part of one.
func TestRecordOutlivesPowerLoss(t *testing.T) {
	place := Place("/var/lib/kqueen-node")
	record := &Record{Node: "a", Address: netip.MustParseAddr("198.51.100.1"), Before: Before{Folders: map[string][]string{"/etc/cni": {}}}}
	for calls := 0; ; calls++ {
		disk := powerloss.New(calls)
		err := place.write(disk, recordFile, record)
		if err != nil && !errors.Is(err, powerloss.ErrOff) {
			t.Fatal(err)
		}
		data, found := disk.Read(place.file(recordFile))
		if err == nil && !found {
			t.Fatal("the record was written and is lost")
		}
		var got Record
		if found && (json.Unmarshal(data, &got) != nil || got.Node != record.Node) {
			t.Errorf("power for %d calls: a part of the record is there: %q", calls, data)
		}
		if err == nil {
			return
		}
	}
}
