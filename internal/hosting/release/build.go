package release

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const multiCall = "kubernetes"

// builder compiles programs of one version into one file.
type builder struct {
	module      goModule
	version     Version
	programs    programs
	fingerprint string
}

// programs are those that go into one file.
type programs struct {
	tag   string // of the build; empty for none
	names []string
}

func newBuilder(ctx context.Context, v Version, src *Build, which programs) (*builder, error) {
	module, err := filepath.Abs(src.Module)
	if err != nil {
		return nil, fmt.Errorf("build.module: %w", err)
	}
	info, err := ReadModule(ctx, module)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("build.module %s has no go.mod: name the folder of a Go module such as kubernetes/v1.36", src.Module)
	}
	if err != nil {
		return nil, fmt.Errorf("build.module: %w", err)
	}
	if info.Version != v {
		return nil, fmt.Errorf("build.module %s builds %s: ask for that version, or change its go.mod to %s %s",
			src.Module, info.Version, KubernetesModule, v)
	}
	b := &builder{module: goModule{dir: module}, version: v, programs: which}
	if b.fingerprint, err = b.fingerprintNow(ctx); err != nil {
		return nil, fmt.Errorf("fingerprint of %s: %w", src.Module, err)
	}
	return b, nil
}

func (b *builder) origin() Origin {
	return Origin{Kind: originBuild, From: b.module.dir, Fingerprint: b.fingerprint}
}

// arguments are those of the Go command. It links with the version that the programs
// report and negotiate with; without it they would call themselves v0.0.0-master.
func (b *builder) arguments(out string) []string {
	const base, client = "k8s.io/component-base/version", "k8s.io/client-go/pkg/version"
	flags := []string{
		"-s", "-w",
		"-X", fmt.Sprintf("%s.gitVersion=%s", base, b.version),
		"-X", fmt.Sprintf("%s.gitMajor=%d", base, b.version.Major()),
		"-X", fmt.Sprintf("%s.gitMinor=%d", base, b.version.Minor()),
		"-X", base + ".gitTreeState=clean",
		"-X", fmt.Sprintf("%s.gitVersion=%s", client, b.version),
	}
	return []string{"build", "-v", "-trimpath", "-buildvcs=false", "-tags", b.programs.tag, "-ldflags", strings.Join(flags, " "), "-o", out, "."}
}

func (b *builder) fingerprintNow(ctx context.Context) (string, error) {
	sum, err := b.module.newFingerprint(ctx, b.arguments(multiCall))
	if err != nil {
		return "", err
	}
	err = addSource(sum, b.module.dir, false)
	return hex.EncodeToString(sum.Sum(nil)), err
}

func (b *builder) build(ctx context.Context, dir string, report func(Step)) (made, error) {
	file := filepath.Join(dir, multiCall)
	if err := b.module.compile(ctx, "build", b.arguments(file), []string{"."}, report); err != nil {
		return made{}, err
	}
	for _, name := range b.programs.names {
		if err := os.Symlink(multiCall, filepath.Join(dir, name)); err != nil {
			return made{}, fmt.Errorf("link %s: %w", name, err)
		}
	}
	report(Step{Name: "check the version of the build"})
	if err := checkVersion(ctx, filepath.Join(dir, b.programs.names[0]), b.version); err != nil {
		return made{}, err
	}
	compiled, err := hashFile(ctx, file)
	if err != nil {
		return made{}, err
	}
	components := map[string]Component{}
	for _, name := range b.programs.names {
		components[name] = compiled
	}
	return made{files: components, handsOver: handsOver(ctx, filepath.Join(dir, b.programs.names[0]))}, syncFile(file)
}

// handsOver asks the fresh program for the help of a flag that no kube-apiserver has which cannot be replaced while it runs.
func handsOver(ctx context.Context, file string) bool {
	if filepath.Base(file) != "kube-apiserver" {
		return false
	}
	_, err := ask(ctx, file, "--handover-folder=.", "--help")
	return err == nil
}

// checkVersion starts the fresh program: a build that does not know its version would
// be refused by every skew check of Kubernetes itself.
func checkVersion(ctx context.Context, file string, v Version) error {
	out, err := ask(ctx, file, "--version")
	if err != nil {
		return err
	}
	if got, want := strings.TrimSpace(out), "Kubernetes "+v.String(); got != want {
		return fmt.Errorf("the build says it is %.100q instead of %q: check the module's requirements and replacements", got, want)
	}
	return nil
}
