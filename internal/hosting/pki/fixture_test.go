package pki

import (
	"crypto/x509"
	"maps"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// start is when the fixtures are issued, where a test does not need the real time.
var start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

var (
	byAddr       = cmpopts.EquateComparable(netip.Addr{})
	ignoreDetail = cmpopts.IgnoreFields(Change{}, "Detail")
)

func params(uid string) ControlPlaneParams {
	return ControlPlaneParams{
		UID:              uid,
		DNSDomain:        "cluster.local",
		ServiceCIDR:      "10.96.0.0/16",
		SNIHost:          uid + ".acme.kqueen.example",
		AdvertiseAddress: netip.MustParseAddr("192.0.2.10"),
		ExtraSANs:        []string{"*.api.example.org", "2001:db8::1", "localhost"},
		StoreAuthority:   "store-ca",
		StoreUser:        "kq-" + uid,
	}
}

func controlPlaneSet(t testing.TB, p ControlPlaneParams) Set {
	t.Helper()
	set, err := ControlPlane(p)
	if err != nil {
		t.Fatalf("ControlPlane(%+v): %v", p, err)
	}
	return set
}

func storeSet(t testing.TB) Set {
	t.Helper()
	set, err := Store(StoreParams{Name: "default", Hosts: []string{"etcd-0.example.org", "192.0.2.20"}})
	if err != nil {
		t.Fatalf("Store: %v", err)
	}
	return set
}

func issue(t testing.TB, have Bundle, want Set, signers Bundle, now time.Time) (Bundle, []Change) {
	t.Helper()
	got, changes, err := Issue(have, want, signers, now)
	if err != nil {
		t.Fatalf("Issue: %v", err)
	}
	return got, changes
}

// fixture is a store and a control plane on it, issued at one time.
type fixture struct {
	want           Set
	store, signers Bundle
	bundle         Bundle
}

func newFixture(t testing.TB, now time.Time) fixture {
	t.Helper()
	f := fixture{want: controlPlaneSet(t, params("a1"))}
	f.store, _ = issue(t, nil, storeSet(t), nil, now)
	f.signers = f.store.Signer("ca", "store-ca")
	f.bundle, _ = issue(t, nil, f.want, f.signers, now)
	return f
}

// copy returns a copy of the fixture that a test may alter.
func (f fixture) copy() fixture {
	f.bundle, f.signers = maps.Clone(f.bundle), maps.Clone(f.signers)
	f.want.Authorities = append([]Authority(nil), f.want.Authorities...)
	f.want.SigningKeys = append([]string(nil), f.want.SigningKeys...)
	f.want.Leaves = append([]Leaf(nil), f.want.Leaves...)
	return f
}

func (f fixture) leaf(t testing.TB, name string) *Leaf {
	t.Helper()
	for i := range f.want.Leaves {
		if f.want.Leaves[i].Name == name {
			return &f.want.Leaves[i]
		}
	}
	t.Fatalf("no leaf %s", name)
	return nil
}

func certificate(t testing.TB, b Bundle, name string) *x509.Certificate {
	t.Helper()
	cert, err := parseCertificate(b[name+".crt"])
	if err != nil {
		t.Fatalf("%s.crt: %v", name, err)
	}
	return cert
}

// changedFiles lists the files that are not the same in both.
func changedFiles(before, after Bundle) []string {
	all := maps.Clone(before)
	maps.Copy(all, after)
	var out []string
	for _, name := range all.Names() {
		if !cmp.Equal(before[name], after[name]) {
			out = append(out, name)
		}
	}
	return out
}
