package release

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	containerdModule = "github.com/containerd/containerd/v2"
	pluginsModule    = "github.com/containernetworking/plugins"
	runcModule       = "github.com/opencontainers/runc"

	// scratchFolder holds programs that end up in images. It is gone when the parts are whole.
	scratchFolder = ".scratch"
	// packTimeout is for writing the archives, which takes a second or two.
	packTimeout = 5 * time.Minute
)

// nodeBuild is one run of the Go command. The programs get the names of their packages.
type nodeBuild struct {
	name     string   // as the user reads it
	module   string   // folder below the node module
	out      string   // folder below the parts
	flags    []string // of "go build"
	ldflags  string
	packages []string
	cgo      bool
}

func (n nodeBuild) arguments(dir string) []string {
	args := []string{"build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", strings.TrimSpace("-s -w " + n.ldflags)}
	args = append(args, n.flags...)
	// With the slash it is a folder, also where there is none yet.
	args = append(args, "-o", filepath.Join(dir, n.out)+string(filepath.Separator))
	return append(args, n.packages...)
}

// nodeBuilder makes the parts of a node.
type nodeBuilder struct {
	module      string // absolute
	versions    map[string]string
	containerd  Version
	debian      debian
	fingerprint string
}

func newNodeBuilder(ctx context.Context, module string) (*nodeBuilder, error) {
	dir, err := filepath.Abs(module)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", module, err)
	}
	b := &nodeBuilder{module: dir, versions: map[string]string{}}
	mod, err := ReadGoMod(ctx, filepath.Join(dir, modFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("module %s has no go.mod: name the folder node of KQueen's source", module)
	}
	if err != nil {
		return nil, err
	}
	for _, m := range mod.Require {
		b.versions[m.Path] = m.Version
	}
	for _, needed := range []string{containerdModule, pluginsModule, runcModule} {
		if b.versions[needed] == "" {
			return nil, fmt.Errorf("%s does not require %s: add the version that it should build", filepath.Join(module, modFile), needed)
		}
	}
	if b.containerd, err = ParseVersion(b.versions[containerdModule]); err != nil {
		return nil, fmt.Errorf("%s requires %s: %w", filepath.Join(module, modFile), containerdModule, err)
	}
	if b.debian, err = findDebian(ctx); err != nil {
		return nil, err
	}
	if b.fingerprint, err = b.fingerprintNow(ctx, b.debian.files()); err != nil {
		return nil, fmt.Errorf("fingerprint of %s: %w", module, err)
	}
	return b, nil
}

func (b *nodeBuilder) slot() slot {
	folder := fmt.Sprintf("%s-%s-%s", nodeName, b.containerd, b.fingerprint[:fingerprintLength])
	return slot{name: nodeName, folder: folder, version: b.containerd, files: nodeFiles}
}

func (b *nodeBuilder) origin() Origin {
	return Origin{Kind: "build", From: b.module, Fingerprint: b.fingerprint}
}

// builds are in the order in which they run.
func (b *nodeBuilder) builds() []nodeBuild {
	return []nodeBuild{
		{
			name: "containerd", out: binFolder,
			ldflags: fmt.Sprintf("-X %s/version.Version=%s", containerdModule, b.versions[containerdModule]),
			packages: []string{
				containerdModule + "/cmd/containerd", containerdModule + "/cmd/containerd-shim-runc-v2", containerdModule + "/cmd/ctr",
			},
		},
		{
			name: "CNI plugins", out: cniFolder,
			ldflags: fmt.Sprintf("-X %s/pkg/utils/buildversion.BuildVersion=%s", pluginsModule, b.versions[pluginsModule]),
			packages: []string{
				pluginsModule + "/plugins/main/bridge", pluginsModule + "/plugins/main/loopback",
				pluginsModule + "/plugins/ipam/host-local", pluginsModule + "/plugins/meta/portmap",
			},
		},
		{
			// As "make static" of upstream does. Without the tag seccomp, every pod fails.
			name: "runc", out: binFolder, cgo: true,
			flags:    []string{"-buildmode=pie", "-tags", "seccomp,netgo,osusergo,urfave_cli_no_docs"},
			ldflags:  "-linkmode external -extldflags -static-pie",
			packages: []string{runcModule},
		},
		{name: "pause and toolbox", out: scratchFolder, packages: []string{"./pause", "./toolbox", "./images"}},
		{name: "CoreDNS", out: scratchFolder, module: "coredns", packages: []string{"."}},
		{name: "flannel", out: scratchFolder, module: "flannel", packages: []string{"."}},
		{name: "metrics-server", out: scratchFolder, module: "metrics-server", packages: []string{"."}},
		{name: "the node's agent", out: scratchFolder, module: "agent", packages: []string{"."}},
	}
}

// fingerprintNow covers what the programs are compiled from, and the files of this
// machine that are linked or packed into them.
func (b *nodeBuilder) fingerprintNow(ctx context.Context, files []string) (string, error) {
	var builds [][]string
	for _, build := range b.builds() {
		builds = append(builds, build.arguments("."))
	}
	sum, err := goModule{dir: b.module}.newFingerprint(ctx, builds...)
	if err != nil {
		return "", err
	}
	if err := addSource(sum, b.module, true); err != nil {
		return "", err
	}
	for _, file := range files {
		if err := addFile(sum, filepath.Base(file), file); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (b *nodeBuilder) build(ctx context.Context, dir string, report func(Step)) (made, error) {
	for _, build := range b.builds() {
		module := goModule{dir: filepath.Join(b.module, build.module), cgo: build.cgo}
		if err := module.compile(ctx, "build "+build.name, build.arguments(dir), build.packages, report); err != nil {
			return made{}, err
		}
	}
	report(Step{Name: "check the versions of the build"})
	if err := b.checkVersions(ctx, dir); err != nil {
		return made{}, err
	}
	report(Step{Name: "pack images"})
	images, err := b.packImages(ctx, dir)
	if err != nil {
		return made{}, fmt.Errorf("pack images: %w", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, scratchFolder)); err != nil {
		return made{}, fmt.Errorf("remove what is in images: %w", err)
	}
	files, err := hashTree(ctx, dir)
	if err != nil {
		return made{}, err
	}
	for archive := range images {
		if _, ok := files[archive]; !ok {
			return made{}, fmt.Errorf("pack images: %s was not written", archive)
		}
	}
	return made{files: files, images: images}, nil
}

// checkVersions asks fresh programs for their versions: one that does not know its own
// was linked with the path of another major version.
func (b *nodeBuilder) checkVersions(ctx context.Context, dir string) error {
	for _, check := range []struct {
		program, module string
		args            []string
	}{
		{"bin/containerd", containerdModule, []string{"--version"}},
		{"bin/runc", runcModule, []string{"--version"}},
		{"cni/bridge", pluginsModule, nil}, // a plugin that is not told what to do says what it is
	} {
		out, err := ask(ctx, filepath.Join(dir, check.program), check.args...)
		if err != nil {
			return err
		}
		want := b.versions[check.module]
		if said := strings.Fields(out); !slices.Contains(said, want) && !slices.Contains(said, strings.TrimPrefix(want, "v")) {
			return fmt.Errorf("%s says it is %.200q instead of %s: check how its version is linked", check.program, out, want)
		}
	}
	return nil
}

// packImages runs the module's program images, and reads from what it prints which
// archive has which image.
func (b *nodeBuilder) packImages(ctx context.Context, dir string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, packTimeout)
	defer cancel()
	if err := os.Mkdir(filepath.Join(dir, imagesFolder), 0o755); err != nil {
		return nil, err
	}
	scratch := func(name string) string { return filepath.Join(dir, scratchFolder, name) }
	args := []string{
		"-out", filepath.Join(dir, imagesFolder), "-pause", scratch("pause"), "-coredns", scratch("coredns"),
		"-flannel", scratch("flannel"), "-plugins", filepath.Join(dir, cniFolder), "-metrics-server", scratch("metrics-server"),
		"-agent", scratch("agent"), "-busybox", b.debian.busybox, "-toolbox", scratch("toolbox"),
	}
	for _, file := range b.debian.shell {
		args = append(args, "-shell", file)
	}
	cmd := exec.CommandContext(ctx, scratch("images"), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %.500s", err, strings.TrimSpace(stderr.String()))
	}
	images := map[string]string{}
	for line := range strings.Lines(string(out)) {
		archive, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || name == "" || filepath.Base(archive) != archive {
			return nil, fmt.Errorf("line %q does not name a file and an image", line)
		}
		images[imagesFolder+"/"+archive] = name
	}
	if images[pauseArchive] == "" {
		return nil, fmt.Errorf("there is no %s", pauseArchive)
	}
	return images, nil
}

// hashTree hashes every file below a folder and pushes it to the disk.
func hashTree(ctx context.Context, dir string) (map[string]Component, error) {
	files := map[string]Component{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return syncFile(path)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if files[name], err = hashFile(ctx, path); err != nil {
			return err
		}
		return syncFile(path)
	})
	return files, err
}
