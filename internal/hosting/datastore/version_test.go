package datastore

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/authpb"
)

func TestCheckVersion(t *testing.T) {
	cases := map[string]struct {
		reason string
		ok     bool
	}{
		"3.7.1":            {"the floor itself", true},
		"3.7.3":            {"newer patch", true},
		"3.7.10":           {"numbers, not letters", true},
		"3.10.0":           {"numbers, not letters", true},
		"4.0.0":            {"newer major", true},
		"3.7.2-rc.0":       {"candidate of a newer one", true},
		"3.7.1+build":      {"build metadata does not count", true},
		"3.7.1-rc.1":       {"candidate of the floor", false},
		"3.7.0":            {"older patch", false},
		"3.6.14":           {"repaired, but not what we test on", false},
		"3.4.23":           {"Debian's", false},
		"2.9.9":            {"older major", false},
		"":                 {"nothing", false},
		"3.7":              {"not a whole version", false},
		"v3.7.3":           {"etcd tells no v", false},
		"3.7.3 or so":      {"text", false},
		"not_decided":      {"what a member says before it knows", false},
		"99999999999999.0": {"not a whole version", false},
	}
	for found, c := range cases {
		err := checkVersion("https://etcd:2379", found)
		if c.ok {
			if err != nil {
				t.Errorf("%q (%s): %v", found, c.reason, err)
			}
			continue
		}
		var typed *VersionError
		if !errors.As(err, &typed) {
			t.Errorf("%q (%s): got %v, want a VersionError", found, c.reason, err)
			continue
		}
		if d := cmp.Diff(VersionError{Endpoint: "https://etcd:2379", Found: found, Wanted: Floor}, *typed); d != "" {
			t.Errorf("%q: -want +got\n%s", found, d)
		}
	}
}

func TestPlanGrants(t *testing.T) {
	k := Keyspace{uid: "deadbeef"}
	perm := func(key, end string, typ authpb.Permission_Type) *authpb.Permission {
		return &authpb.Permission{Key: []byte(key), RangeEnd: []byte(end), PermType: typ}
	}
	own := perm(k.Prefix(), k.end(), authpb.READWRITE)
	ownRead := perm(k.Prefix(), k.end(), authpb.READ)
	wide := perm("/", "0", authpb.READWRITE)
	wideSameKey := perm(k.Prefix(), "\x00", authpb.READWRITE)
	point := perm(k.Prefix(), "", authpb.READWRITE)
	cases := map[string]struct {
		reason       string
		perms        []*authpb.Permission
		dropOwn, add bool
		foreign      int
	}{
		"right":          {"nothing to do", []*authpb.Permission{own}, false, false, 0},
		"none":           {"half-made role", nil, false, true, 0},
		"read only":      {"wrong type", []*authpb.Permission{ownRead}, false, true, 0},
		"read and wider": {"wrong type, and etcd may update the other one", []*authpb.Permission{wideSameKey, ownRead}, true, true, 1},
		"twice":          {"exactly one is wanted", []*authpb.Permission{own, own}, true, true, 0},
		"wide":           {"foreign grant", []*authpb.Permission{wide}, false, true, 1},
		"own and wide":   {"own stays in force", []*authpb.Permission{own, wide}, false, false, 1},
		"same key wider": {"open end", []*authpb.Permission{wideSameKey, own}, false, false, 1},
		"point":          {"a single key is no keyspace", []*authpb.Permission{point}, false, true, 1},
	}
	for name, c := range cases {
		p := planGrants(k, c.perms, ReadWrite)
		if p.dropOwn != c.dropOwn || p.addOwn != c.add || len(p.foreign) != c.foreign {
			t.Errorf("%s (%s): got %+v", name, c.reason, p)
		}
	}
	if p := planGrants(k, []*authpb.Permission{own}, ReadOnly); p.dropOwn || !p.addOwn {
		t.Errorf("to read alone: got %+v, want the grant in place", p)
	}
}
