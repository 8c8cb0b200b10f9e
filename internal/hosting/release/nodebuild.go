package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
		{name: "pause and toolbox", out: scratchFolder, packages: []string{"./pause", "./toolbox", imagesPackage}},
		{name: "CoreDNS", out: scratchFolder, module: "coredns", packages: []string{"."}},
		{name: "flannel", out: scratchFolder, module: "flannel", packages: []string{"."}},
	}
}

// fingerprintNow covers what the programs are compiled from, and the files of this
// machine that are linked or packed into them.
func (b *nodeBuilder) fingerprintNow(ctx context.Context, files []string) (string, error) {
	return fingerprintOf(ctx, b.module, b.builds(), files)
}

func (b *nodeBuilder) build(ctx context.Context, dir string, report func(Step)) (made, error) {
	if err := compileAll(ctx, b.module, b.builds(), dir, report); err != nil {
		return made{}, err
	}
	// A program of a machine that has nothing more to do becomes it: see [NodeParts.Idle].
	if err := copyProgram(filepath.Join(dir, scratchFolder, "pause"), filepath.Join(dir, idleProgram)); err != nil {
		return made{}, fmt.Errorf("keep pause: %w", err)
	}
	report(Step{Name: "check the versions of the build"})
	if err := b.checkVersions(ctx, dir); err != nil {
		return made{}, err
	}
	scratch := func(name string) string { return filepath.Join(dir, scratchFolder, name) }
	args := []string{
		"-pause", scratch("pause"), "-coredns", scratch("coredns"), "-flannel", scratch("flannel"),
		"-plugins", filepath.Join(dir, cniFolder), "-busybox", b.debian.busybox, "-toolbox", scratch("toolbox"),
	}
	for _, file := range b.debian.shell {
		args = append(args, "-shell", file)
	}
	got, err := packAll(ctx, dir, args, report)
	if err == nil && got.images[pauseArchive] == "" {
		err = fmt.Errorf("pack images: there is no %s", pauseArchive)
	}
	return got, err
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
