//go:build linux

package local

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/hosting/release/releasetest"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/machine/local/guest"
)

// TestChooseIDs: no two machines stand for the same users, and none for those of other containers.
func TestChooseIDs(t *testing.T) {
	first, err := chooseIDs("m", nil, nil)
	if err != nil || first.First < firstID || first.First+first.Count > lastID || first.Count != idBlock || first.First%idBlock != 0 {
		t.Fatalf("got %+v, %v", first, err)
	}
	if again, err := chooseIDs("m", nil, nil); err != nil || again != first {
		t.Errorf("the same machine: %+v, %v, want %+v", again, err, first)
	}
	if other, err := chooseIDs("n", nil, nil); err != nil || other == first {
		t.Errorf("another machine begins with %+v, %v", other, err)
	}
	next := guest.IDs{First: first.First + idBlock, Count: idBlock}
	for name, c := range map[string]struct {
		records map[types.UID]record
		taken   []guest.IDs
	}{
		"another machine's":        {map[types.UID]record{"n": {IDs: &first}, "old": {}}, nil},
		"a user's containers'":     {nil, []guest.IDs{{First: 100000, Count: 65536}, first}},
		"the end of another range": {nil, []guest.IDs{{First: first.First - 10, Count: 11}}},
	} {
		if got, err := chooseIDs("m", c.records, c.taken); err != nil || got != next {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, next)
		}
	}
	if got, err := chooseIDs("m", nil, []guest.IDs{{First: 1, Count: lastID}}); !errors.Is(err, machine.ErrCapacity) {
		t.Errorf("with all taken: %+v, %v", got, err)
	}
}

func TestParseIDs(t *testing.T) {
	want := []guest.IDs{{First: 100000, Count: 65536}}
	if diff := cmp.Diff(want, parseIDs([]byte("root:100000:65536\n# a comment\nbroken:x:1\nshort:1\n"), ":")); diff != "" {
		t.Errorf("subuid (-want +got):\n%s", diff)
	}
	want = []guest.IDs{{First: 600000, Count: 65536}}
	if diff := cmp.Diff(want, parseIDs([]byte("         0     600000      65536\n         0          0 4294967295\n"), "")); diff != "" {
		t.Errorf("uid_map (-want +got):\n%s", diff)
	}
	if _, err := idsInUse(); err != nil {
		t.Errorf("of this host: %v", err)
	}
}

// TestIsolate: a machine gets the level that the kernel does when it is made, keeps it, and says why it is not a better one;
// one of an earlier KQueen gets it when it is made anew, with the program of today: the file that names one could be written
// from within.
func TestIsolate(t *testing.T) {
	p := provider(t, releasetest.Store(t, "v1.36.3"))
	old := record{Cluster: "c1", Address: netip.MustParsePrefix("10.222.7.2/24"), Parts: "/parts", Program: "/bin/sh"}
	p.records["m1"] = old
	got, err := p.recordOf(t.Context(), wanted())
	if err != nil || got.Isolation != machine.IsolationUserNamespace || got.IDs == nil || got.Program != p.Program || got.Reason != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	p.try = func(context.Context, guest.IDs) error { return errors.New("the kernel has none") }
	if again, err := p.recordOf(t.Context(), wanted()); err != nil || again.IDs == nil || again.Isolation != got.Isolation {
		t.Errorf("looked at again: %+v, %v", again, err)
	}
	p.records["m1"] = old
	got, err = p.recordOf(t.Context(), wanted())
	if err != nil || got.Isolation != machine.IsolationOwnRoot || got.IDs != nil || !strings.HasSuffix(got.Reason, "the kernel has none") {
		t.Errorf("where the kernel refuses: %+v, %v", got, err)
	}
}

func TestMachineLimits(t *testing.T) {
	f := facts{size: machine.Size{MilliCPU: 4000, Memory: 100 << 30}, pids: 32768}
	for name, c := range map[string]struct {
		size   machine.Size
		memory int64
	}{
		"no size":         {machine.Size{}, 90 << 30},
		"small":           {machine.Size{Memory: 4 << 30}, 5 << 30},
		"nearly all":      {machine.Size{Memory: 90 << 30}, 90 << 30},
		"all of the host": {machine.Size{Memory: 100 << 30}, 100 << 30},
	} {
		got := f.limits(c.size, true)
		if got.Size.Memory != c.memory || got.PIDs != 8192 || !got.Devices {
			t.Errorf("%s: got %+v, want %d bytes", name, got, c.memory)
		}
	}
	if got := (facts{pids: 4 << 20}).limits(machine.Size{}, false); got.PIDs != mostPIDs || got.Devices {
		t.Errorf("got %+v", got)
	}
}
