package release

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// addonsFolder holds a store of its own: machines show it as a whole, so that images that are built later get into them.
const addonsFolder = "addons"

// AddonImages are the images of those addons without which nodes are of use. They are made after the parts of nodes, so that
// nodes do not wait for them, and a node has those that were made last, whenever it was created.
type AddonImages struct {
	// Dir holds them.
	Dir    string
	Images []Image
}

// Folder is where the archives are, *.tar.
func (a AddonImages) Folder() string { return filepath.Join(a.Dir, imagesFolder) }

// AddonsDir is the folder in which those of every build lie, each in one of its own.
func (s *Store) AddonsDir() string { return filepath.Join(s.dir, addonsFolder) }

func (s *Store) addons() *Store {
	nested := *s
	nested.dir = s.AddonsDir()
	return &nested
}

// EnsureAddonImages builds the images from the folder node of KQueen's source, and otherwise is as [Store.EnsureNode].
func (s *Store) EnsureAddonImages(ctx context.Context, node string, report func(Step)) (AddonImages, error) {
	if report == nil {
		report = func(Step) {}
	}
	images, err := s.addons().ensureAddonImages(ctx, node, report)
	if err != nil {
		return AddonImages{}, fmt.Errorf("images of addons: %w", err)
	}
	return images, nil
}

func (s *Store) ensureAddonImages(ctx context.Context, node string, report func(Step)) (AddonImages, error) {
	unlock, err := s.lock(ctx, nodeName, report)
	if err != nil {
		return AddonImages{}, err
	}
	defer unlock()
	report, done := s.publish(report)
	defer done()
	work, err := newAddonBuilder(ctx, node)
	if err != nil {
		return AddonImages{}, err
	}
	have, dir, err := s.fillNewest(ctx, work.slot(), work, report)
	if err != nil {
		return AddonImages{}, err
	}
	return addonImagesOf(dir, have), nil
}

// fillNewest fills a slot of those that are called node-, and marks it as the newest: a build of an older source has to find
// its own again.
func (s *Store) fillNewest(ctx context.Context, at slot, work maker, report func(Step)) (manifest, string, error) {
	have, err := s.fill(ctx, at, work, report)
	if err != nil {
		return manifest{}, "", err
	}
	dir, now := filepath.Join(s.dir, at.folder), time.Now()
	if err := os.Chtimes(filepath.Join(dir, manifestName), now, now); err != nil {
		return manifest{}, "", fmt.Errorf("mark as the newest: %w", err)
	}
	return have, dir, nil
}

// LookupAddonImages finds the images that [Store.EnsureAddonImages] provided last, and otherwise is as [Store.LookupNodeParts].
func (s *Store) LookupAddonImages() (AddonImages, bool, error) {
	folder, err := s.addons().newestNode()
	if err != nil || folder == "" {
		return AddonImages{}, false, err
	}
	have, ok, err := readManifest(folder, Version{}, nil)
	if err != nil || !ok {
		return AddonImages{}, false, err
	}
	return addonImagesOf(folder, have), true, nil
}

// AddonBuild is for the images of addons what [Store.NodeBuild] is for the programs of nodes.
func (s *Store) AddonBuild() (Step, bool) { return s.addons().NodeBuild() }

func addonImagesOf(dir string, m manifest) AddonImages {
	return AddonImages{Dir: dir, Images: imagesOf(dir, m)}
}

// addonBuilder makes the images of addons.
type addonBuilder struct {
	module      string // absolute
	fingerprint string
}

func newAddonBuilder(ctx context.Context, module string) (*addonBuilder, error) {
	dir, err := filepath.Abs(module)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", module, err)
	}
	b := &addonBuilder{module: dir}
	if b.fingerprint, err = fingerprintOf(ctx, dir, b.builds(), nil); err != nil {
		return nil, fmt.Errorf("fingerprint of %s: %w", module, err)
	}
	return b, nil
}

func (b *addonBuilder) slot() slot {
	return slot{name: nodeName, folder: nodeName + "-" + b.fingerprint[:fingerprintLength]}
}

func (b *addonBuilder) origin() Origin {
	return Origin{Kind: originBuild, From: b.module, Fingerprint: b.fingerprint}
}

// builds are in the order in which they run.
func (b *addonBuilder) builds() []nodeBuild {
	return []nodeBuild{
		{name: "the program that packs images", out: scratchFolder, packages: []string{imagesPackage}},
		{name: "the node's agent", out: scratchFolder, module: "agent", packages: []string{"."}},
		{name: "metrics-server", out: scratchFolder, module: "metrics-server", packages: []string{"."}},
		{name: "Traefik", out: scratchFolder, module: "traefik", packages: []string{"."}},
	}
}

func (b *addonBuilder) build(ctx context.Context, dir string, report func(Step)) (made, error) {
	if err := compileAll(ctx, b.module, b.builds(), dir, report); err != nil {
		return made{}, err
	}
	scratch := func(name string) string { return filepath.Join(dir, scratchFolder, name) }
	args := []string{"-agent", scratch("agent"), "-metrics-server", scratch("metrics-server"), "-traefik", scratch("traefik")}
	return packAll(ctx, dir, args, report)
}
