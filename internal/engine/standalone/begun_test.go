//go:build linux

package standalone

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// cluster is an etcd of that id.
type cluster string

func (c cluster) ClusterID(context.Context) (string, error) { return string(c), nil }

// TestDataAreNotBegunAnew: an etcd that has had data does not begin without, whichever of the two it is, and says which cluster is
// gone; with its data back it goes on, and where there never were any it begins.
func TestDataAreNotBegunAnew(t *testing.T) {
	for _, folders := range [][]string{{storeFolder}, {adminStoreFolder}, {adminStoreFolder, storeFolder}} {
		t.Run(strings.Join(folders, "+"), func(t *testing.T) {
			dir := t.TempDir()
			u := &bringUp{Host: engine.Host{
				Dir: dir, AuditLog: filepath.Join(dir, "audit", "audit.log"), Domain: "kqueen.internal", AdvertiseAddress: netip.MustParseAddr("192.0.2.1"),
				Trust: notes{}, Problem: func(string, error) {}, Log: slog.New(slog.DiscardHandler),
			}}
			if err := u.keys(t.Context()); err != nil {
				t.Fatalf("a new installation: %v", err)
			}
			for _, folder := range []string{adminStoreFolder, storeFolder} {
				if err := os.MkdirAll(filepath.Join(dir, folder, member), 0o700); err != nil {
					t.Fatal(err)
				}
				for _, id := range []cluster{"cdf818194e3a8c32", "5a1b2c3d"} { // the second one was restored
					if err := u.noteCluster(t.Context(), folder, id); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := u.keys(t.Context()); err != nil {
				t.Fatalf("with all data: %v", err)
			}
			for _, folder := range folders {
				if err := os.Rename(filepath.Join(dir, folder, member), filepath.Join(dir, folder, "away")); err != nil {
					t.Fatal(err)
				}
			}
			err := u.keys(t.Context())
			damaged, ok := errors.AsType[*atomicfile.DamagedError](err)
			if !ok || !strings.HasPrefix(damaged.Path, filepath.Join(dir, folders[0])) || !strings.Contains(damaged.Remedy, "restore") {
				t.Errorf("without %v: %v", folders, err)
			}
			for _, folder := range folders {
				if err := os.Rename(filepath.Join(dir, folder, "away"), filepath.Join(dir, folder, member)); err != nil {
					t.Fatal(err)
				}
			}
			if err := u.keys(t.Context()); err != nil {
				t.Errorf("with the data back: %v", err)
			}
		})
	}
}
