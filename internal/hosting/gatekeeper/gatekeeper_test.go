//go:build linux

package gatekeeper

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// host is a supervisor that notes what it is asked for.
type host struct {
	ports    map[string]int
	workload supervise.Workload
	removed  string
}

func (h *host) Reserve(_ context.Context, _ string, ports []string) (supervise.Place, error) {
	for _, name := range ports {
		if h.ports[name] == 0 {
			h.ports[name] = 31000 + len(h.ports)
		}
	}
	return supervise.Place{Dir: "/run/gate", Addr: netip.MustParseAddr("127.0.0.1"), Port: h.ports}, nil
}

func (h *host) Apply(_ context.Context, w supervise.Workload) error {
	h.workload = w
	return nil
}

func (h *host) Status(context.Context, string) (supervise.Status, error) {
	return supervise.Status{}, nil
}

func (h *host) Remove(_ context.Context, id string, _ time.Duration) (bool, error) {
	h.removed = id
	return true, nil
}

// TestMembers: endpoints are URLs, and members what a connection is made to.
func TestMembers(t *testing.T) {
	got, err := Members([]string{"https://etcd-0.example.org:2379", "https://192.0.2.7", "https://[2001:db8::1]:2379"})
	if d := cmp.Diff([]string{"etcd-0.example.org:2379", "192.0.2.7:443", "[2001:db8::1]:2379"}, got); d != "" || err != nil {
		t.Errorf("-want +got\n%s%v", d, err)
	}
	if got, err := Members([]string{"https://[::1"}); err == nil {
		t.Errorf("what is no URL is %v", got)
	}
}

// TestReach: a gate connects to its store alone, where that has addresses and no names.
func TestReach(t *testing.T) {
	for name, tc := range map[string]struct {
		members []string
		want    []netip.AddrPort
	}{
		"addresses":         {[]string{"192.0.2.7:2379", "[2001:db8::1]:2379"}, []netip.AddrPort{netip.MustParseAddrPort("192.0.2.7:2379"), netip.MustParseAddrPort("[2001:db8::1]:2379")}},
		"a name among them": {[]string{"192.0.2.7:2379", "etcd-1.example.org:2379"}, nil},
	} {
		if d := cmp.Diff(tc.want, reach(tc.members), cmpopts.EquateComparable(netip.AddrPort{})); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
}

// TestRun: the same store has the same gate, and one with another member has another one, which has a port of its own for its probe: both run
// for a while.
func TestRun(t *testing.T) {
	set, err := pki.StoreGate("default")
	if err != nil {
		t.Fatal(err)
	}
	keys, _, err := pki.Issue(nil, set, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	h := &host{ports: map[string]int{}}
	k := &Keeper{Supervisor: h, Program: "/kqueen"}
	described := func(members ...string) supervise.Component {
		t.Helper()
		gate, err := k.Run(t.Context(), Store{Workload: "store-gate", Members: members, CA: []byte("ca"), Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		if want := (Gate{"https://127.0.0.1:31000", "/run/gate/tenants.json", "/run/gate/usage/usage.json"}); gate != want {
			t.Errorf("the gate is %v, want %v", gate, want)
		}
		return h.workload.Components[0]
	}
	first, again, other := described("192.0.2.7:2379"), described("192.0.2.7:2379"), described("192.0.2.7:2379", "192.0.2.8:2379")
	if d := cmp.Diff(first, again); d != "" {
		t.Errorf("the same store: -first +again\n%s", d)
	}
	if first.Ports[0] != other.Ports[0] || first.Ports[1] == other.Ports[1] || first.Probe.URL == other.Probe.URL || slices.Equal(first.Args, other.Args) {
		t.Errorf("another store: %v and %v", first, other)
	}
	if err := k.Remove(t.Context(), "store-gate"); err != nil || h.removed != "store-gate" {
		t.Errorf("removed is %q: %v", h.removed, err)
	}
	if ready, err := k.Ready(t.Context(), "store-gate"); ready || err != nil {
		t.Errorf("a gate that does not run is ready: %t, %v", ready, err)
	}
}
