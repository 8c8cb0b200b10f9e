package datastore_test

import (
	"errors"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

func TestNewKeyspace(t *testing.T) {
	cases := map[string]struct {
		reason string
		uid    string
		want   string // the prefix; empty: refused
	}{
		"uuid":      {"what Kubernetes makes", "5c1d7b1e-6a5f-4d6b-9b0e-0d1c2b3a4f5e", "/kqueen/5c1d7b1e-6a5f-4d6b-9b0e-0d1c2b3a4f5e/"},
		"shortest":  {"8 characters", "deadbeef", "/kqueen/deadbeef/"},
		"longest":   {"64 characters", strings.Repeat("0", 64), "/kqueen/" + strings.Repeat("0", 64) + "/"},
		"empty":     {"would be the root of all tenants", "", ""},
		"too short": {"7 characters", "deadbee", ""},
		"too long":  {"65 characters", strings.Repeat("0", 65), ""},
		"upper":     {"a second spelling of the same UID", "DEADBEEF", ""},
		"slash":     {"would nest", "deadbeef/a", ""},
		"dots":      {"no path", "../../aaaa", ""},
		"nul":       {"etcd's smallest byte", "deadbeef\x00", ""},
		"newline":   {"a trailing newline", "deadbeef\n", ""},
		"wide":      {"digits that are not ASCII", "١١١١١١١١", ""},
		"admin":     {"the admin plane's", "admin", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k, err := datastore.NewKeyspace(c.uid)
			if c.want == "" {
				var typed *datastore.KeyspaceError
				if !errors.As(err, &typed) || typed.UID != c.uid {
					t.Fatalf("%s: got error %v, want a KeyspaceError", c.reason, err)
				}
				return
			}
			if err != nil || k.Prefix() != c.want || k.User() != "kqueen-"+c.uid || k.UID() != c.uid {
				t.Errorf("%s: got %q, %q, %v", c.reason, k.Prefix(), k.User(), err)
			}
		})
	}
}

func TestZeroKeyspaceIsRefused(t *testing.T) {
	var zero datastore.Keyspace
	ctx := deadline(t)
	_, usage := env.store.Usage(ctx, zero)
	for act, err := range map[string]error{"ensure": env.store.Ensure(ctx, zero, datastore.ReadWrite), "remove": env.store.Remove(ctx, zero), "usage": usage} {
		if _, ok := errors.AsType[*datastore.KeyspaceError](err); !ok {
			t.Errorf("%s: got %v, want a KeyspaceError", act, err)
		}
	}
}

func FuzzNewKeyspace(f *testing.F) {
	f.Add("deadbeef", "deadbeef0")
	f.Add("deadbeef", "deadbeef/")
	f.Add("admin", "deadbeef")
	f.Add("--------", "00000000")
	f.Fuzz(func(t *testing.T, a, b string) {
		ka, errA := datastore.NewKeyspace(a)
		kb, errB := datastore.NewKeyspace(b)
		if errA != nil || errB != nil {
			return
		}
		all := []datastore.Keyspace{ka, datastore.AdminKeyspace()}
		if a != b {
			all = append(all, kb)
		}
		for i, x := range all {
			for j, y := range all {
				if i == j {
					continue
				}
				if strings.HasPrefix(x.Prefix(), y.Prefix()) || x.User() == y.User() || x == y {
					t.Errorf("%q lies in %q", x.Prefix(), y.Prefix())
				}
			}
		}
	})
}
