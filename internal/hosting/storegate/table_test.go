package storegate

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

func TestTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tenants.json")
	table, err := OpenTable(file)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key := issued(t, env.keys, "kqueen-aaaaaaaa-0001")
	tenant := Tenant{Group: "org-a", Certificate: certificate, Key: key}
	other := Tenant{Group: "org-b"}
	other.Certificate, other.Key = issued(t, env.keys, "kqueen-aaaaaaaa-0002")
	for _, err := range []error{
		table.Set("aaaaaaaa-0001", tenant, ptr.To[int64](7)), table.Set("aaaaaaaa-0002", other, nil),
		table.SetQuota("org-b", ptr.To[int64](-3)), table.SetQuota("org-c", ptr.To[int64](5)), table.SetQuota("org-c", nil),
		table.Remove("aaaaaaaa-0002"), table.Remove("aaaaaaaa-0009"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	again, err := OpenTable(file)
	if err != nil {
		t.Fatal(err)
	}
	want := listing{Tenants: map[string]Tenant{"aaaaaaaa-0001": tenant}, Quotas: map[string]int64{"org-a": 7, "org-b": 0}}
	if d := cmp.Diff(want, again.now); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if got, ok := again.Get("aaaaaaaa-0001"); !ok || !got.equal(tenant) {
		t.Errorf("the tenant is %v", got)
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if before.Mode().Perm() != 0o640 {
		t.Errorf("the file with the keys is for others, too: %s", before.Mode())
	}
	if err := table.Set("aaaaaaaa-0001", tenant, ptr.To[int64](7)); err != nil {
		t.Fatal(err)
	}
	if err := table.SetQuota("org-b", ptr.To[int64](0)); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was written although nothing has changed: %v", err)
	}
	for name, damage := range map[string]func() error{
		"damaged": func() error { return os.WriteFile(file, []byte("{"), 0o600) },
		"removed": func() error { return os.Remove(file) },
	} {
		if err := errors.Join(damage(), table.Set("aaaaaaaa-0001", tenant, ptr.To[int64](7))); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenTable(file); err != nil {
			t.Errorf("a file that was %s is not written anew: %v", name, err)
		}
	}
	for name, try := range map[string]func() error{
		"another's certificate": func() error { return again.Set("aaaaaaaa-0001", other, nil) },
		"a foreign key":         func() error { return again.Set("aaaaaaaa-0001", Tenant{"g", certificate, other.Key}, nil) },
		"no group":              func() error { return again.Set("aaaaaaaa-0001", Tenant{"", certificate, key}, nil) },
		"a name that is none":   func() error { return again.Set("../x", tenant, nil) },
	} {
		if try() == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// A file that is damaged is nothing, and said; the gate keeps the tenants that it has.
func TestDamagedTable(t *testing.T) {
	r := newRig(t)
	k := r.tenant(t, "aaaaaaaa-0003", "org-a", noQuota)
	good, err := os.ReadFile(r.table.file)
	if err != nil {
		t.Fatal(err)
	}
	var negative listing
	if err := json.Unmarshal(good, &negative); err != nil {
		t.Fatal(err)
	}
	negative.Quotas["org-a"] = -5
	bad, err := json.Marshal(negative)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"", "{", "null", "[]", "{}", `{"tenants":{}}`, string(bad), strings.Replace(string(good), "aaaaaaaa-0003", "aaaaaaaa-0004", 1), strings.Replace(string(good), "org-a", "", 1)} {
		if err := os.WriteFile(r.table.file, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		table, err := OpenTable(r.table.file)
		if err == nil || len(table.now.Tenants) > 0 {
			t.Errorf("%q: %v, %d tenants", data, err, len(table.now.Tenants))
		}
		r.file = follow(r.gate, r.table.file, slog.New(slog.DiscardHandler)) // which has not taken it yet
		r.file.Look()
		if r.gate.tenants[k.User()] == nil {
			t.Errorf("%q has cut off a tenant", data)
		}
	}
}
