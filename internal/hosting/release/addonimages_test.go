package release

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAddonImages makes them beside the parts of nodes, twice, of two sources: the last made are found, and those of before stay.
func TestAddonImages(t *testing.T) {
	module := fakeNode(t)
	store := NewStore(t.TempDir())
	if _, ok, err := store.LookupAddonImages(); ok || err != nil {
		t.Errorf("lookup in an empty store: %v, %v", ok, err)
	}
	first, err := store.EnsureAddonImages(t.Context(), module, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Image{
		{"kqueen.internal/agent:1", filepath.Join(first.Folder(), "agent.tar")},
		{"kqueen.internal/metrics-server:1", filepath.Join(first.Folder(), "metrics-server.tar")},
		{"kqueen.internal/traefik:1", filepath.Join(first.Folder(), "traefik.tar")},
	}
	if diff := cmp.Diff(want, first.Images); diff != "" {
		t.Errorf("images: -want, +got:\n%s", diff)
	}
	if filepath.Dir(first.Dir) != store.AddonsDir() {
		t.Errorf("they are in %s, not below %s", first.Dir, store.AddonsDir())
	}
	if _, building := store.AddonBuild(); building {
		t.Error("a build that has ended goes on")
	}
	if _, ok, err := store.LookupNodeParts(); ok || err != nil {
		t.Errorf("they are taken for the parts of nodes: %v, %v", ok, err)
	}
	// CoreDNS is not among them.
	put(t, filepath.Join(module, "coredns/more.go"), "package main\n")
	if again, err := store.EnsureAddonImages(t.Context(), module, nil); err != nil || again.Dir != first.Dir {
		t.Errorf("made again in %s (%v), want %s", again.Dir, err, first.Dir)
	}
	put(t, filepath.Join(module, "agent/more.go"), "package main\n")
	second, err := store.EnsureAddonImages(t.Context(), module, nil)
	if err != nil {
		t.Fatal(err)
	}
	if second.Dir == first.Dir {
		t.Error("another source has the same folder")
	}
	found, ok, err := store.LookupAddonImages()
	if diff := cmp.Diff(second, found); diff != "" || !ok || err != nil {
		t.Errorf("lookup: %v, %v; -want, +got:\n%s", ok, err, diff)
	}
	put(t, first.Images[0].Archive, "kept")
	put(t, second.Images[0].Archive, "damaged")
	if _, ok, err := store.LookupAddonImages(); ok || err == nil {
		t.Errorf("damaged images are found: %v, %v", ok, err)
	}
}
