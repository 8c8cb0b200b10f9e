//go:build linux

package standalone

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// changing is an etcd whose revision grows while snapshots are begun, so many times.
type changing struct {
	revision int64
	writes   int
	name     string
	broken   error
	began    *[]string
	open     int
}

func (c *changing) Revision(context.Context) (int64, error) { return c.revision, nil }

func (c *changing) Snapshot(context.Context) (io.ReadCloser, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	*c.began = append(*c.began, c.name)
	if c.writes > 0 {
		c.writes--
		c.revision++
	}
	c.open++
	return &closing{c}, nil
}

type closing struct{ of *changing }

func (*closing) Read([]byte) (int, error) { return 0, io.EOF }
func (c *closing) Close() error           { c.of.open--; return nil }

// TestSnapshotsAreOfOneMoment: snapshots that the admin plane changed under are begun again, none of them stays open, and an admin plane
// that never rests is told.
func TestSnapshotsAreOfOneMoment(t *testing.T) {
	gone := errors.New("gone")
	cases := map[string]struct {
		tenants, admin changing
		shared         bool
		tries          int
		want           string
	}{
		"at rest":                      {tries: 1},
		"a write of a tenant":          {tenants: changing{writes: 5}, tries: 1},
		"two writes to the admin":      {admin: changing{writes: 2}, tries: 3},
		"it never rests":               {admin: changing{writes: mostCuts + 1}, tries: mostCuts, want: "changes too often"},
		"one store, which never rests": {admin: changing{writes: mostCuts + 1}, shared: true, tries: 1},
		"the admin's is gone":          {admin: changing{broken: gone}, tries: 0, want: "gone"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var began []string
			c.tenants.name, c.tenants.began, c.admin.name, c.admin.began = "tenants", &began, "admin", &began
			all := []snapshotted{&c.tenants, &c.admin}
			if c.shared {
				all = all[1:]
			}
			taken, err := cut(t.Context(), all)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			open := 0
			if err == nil {
				open = 1
			}
			if c.admin.open != open || c.tenants.open > open {
				t.Errorf("%d and %d are open, want %d", c.tenants.open, c.admin.open, open)
			}
			tries := strings.Count(strings.Join(began, " "), "admin")
			if tries != c.tries || len(taken) != open*len(all) {
				t.Errorf("tried %d times, with %d snapshots; want %d", tries, len(taken), c.tries)
			}
		})
	}
}

// TestStores: an installation of an earlier version has one store for all.
func TestStores(t *testing.T) {
	dir := t.TempDir()
	names := func() (names []string) {
		all, err := stores(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			names = append(names, e.workload)
		}
		return names
	}
	if diff := cmp.Diff([]string{WorkloadStore}, names()); diff != "" {
		t.Error(diff)
	}
	if err := os.MkdirAll(filepath.Join(dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "keys", adminStoreKeysFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{WorkloadStore, WorkloadAdminStore}, names()); diff != "" {
		t.Error(diff)
	}
}

// TestSaveStoresOfNone: what is not there, or damaged, is named, and no key is repeated.
func TestSaveStoresOfNone(t *testing.T) {
	dir := t.TempDir()
	if err := New().SaveStores(t.Context(), dir, t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for _, file := range []string{filepath.Join("keys", storeKeysFile), filepath.Join("run", "workloads", WorkloadStore, "ports.json")} {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("s3cret"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := New().SaveStores(t.Context(), dir, t.TempDir()); err == nil || !strings.Contains(err.Error(), "is damaged") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}
