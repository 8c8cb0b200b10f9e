package storegate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUsage: what tenants hold is known to KQueen, with a quota or without.
func TestUsage(t *testing.T) {
	r, ctx := newRig(t), deadline(t)
	k := r.tenant(t, "aaaaaaaa-8001", "org-a", noQuota)
	if _, err := r.as(t, k).Put(ctx, k.Prefix()+"x", strings.Repeat("x", 1000)); err != nil {
		t.Fatal(err)
	}
	r.gate.space.left.Store(int32(Scarce))
	want := Usage{Bytes: map[string]int64{k.UID(): int64(len(k.Prefix())) + 1001}, Left: Scarce}
	await(t, "a count", func() bool { return cmp.Equal(want, r.gate.usage()) })
	file := filepath.Join(t.TempDir(), "usage", "usage.json")
	if got, err := ReadUsage(file); err != nil || len(got.Bytes) > 0 || got.Left != Enough {
		t.Errorf("before the gate has written: %v, %v", got, err)
	}
	if err := writeUsage(file, r.gate.usage()); err != nil {
		t.Fatal(err)
	}
	got, err := ReadUsage(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// TestForgedUsage: a gate that was taken over has KQueen read nothing but numbers.
func TestForgedUsage(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(dir, "elsewhere")
	if err := os.WriteFile(elsewhere, []byte(`{"bytes":{"a":1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, forge := range map[string]func(file string) error{
		"damaged":   func(file string) error { return os.WriteFile(file, []byte("{"), 0o600) },
		"negative":  func(file string) error { return os.WriteFile(file, []byte(`{"bytes":{"a":-1}}`), 0o600) },
		"a level":   func(file string) error { return os.WriteFile(file, []byte(`{"bytes":{},"left":"plenty"}`), 0o600) },
		"a symlink": func(file string) error { return os.Symlink(elsewhere, file) },
		"a folder":  func(file string) error { return os.Mkdir(file, 0o700) },
		"endless":   func(file string) error { return os.WriteFile(file, make([]byte, maxUsage+1), 0o600) },
	} {
		file := filepath.Join(t.TempDir(), "usage.json")
		if err := forge(file); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadUsage(file); err == nil {
			t.Errorf("%s: it is taken for %v", name, got)
		}
	}
}
