package release

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const testsPackage = KubernetesModule + "/test/e2e"

// suiteBuilder makes the conformance tests of a version.
type suiteBuilder struct {
	module, node string // absolute
	version      Version
	programs     []string // of this machine, which go into images, with the libraries that they need
	busybox      string
	fingerprint  string
}

func newSuiteBuilder(ctx context.Context, v Version, src SuiteSource) (*suiteBuilder, error) {
	b := &suiteBuilder{version: v}
	var err error
	if b.module, err = filepath.Abs(src.Module); err != nil {
		return nil, fmt.Errorf("module %s: %w", src.Module, err)
	}
	if b.node, err = filepath.Abs(src.Node); err != nil {
		return nil, fmt.Errorf("module %s: %w", src.Node, err)
	}
	found, err := findDebian(ctx)
	if err != nil {
		return nil, err
	}
	b.busybox = found.busybox
	if b.programs, err = withLibraries(ctx, imagePrograms); err != nil {
		return nil, fmt.Errorf("%w; install the packages bash, bind9-dnsutils, curl and netcat-openbsd", err)
	}
	if b.fingerprint, err = b.fingerprintNow(ctx); err != nil {
		return nil, fmt.Errorf("fingerprint of %s: %w", src.Module, err)
	}
	return b, nil
}

func (b *suiteBuilder) origin() Origin {
	return Origin{Kind: "build", From: b.module, Fingerprint: b.fingerprint}
}

// suiteBuild is one run of the Go command.
type suiteBuild struct {
	name     string // as the user reads it
	dir      string
	args     func(out string) []string
	packages []string
}

// builds are in the order in which they run.
func (b *suiteBuilder) builds() []suiteBuild {
	const version, client = "k8s.io/component-base/version", "k8s.io/client-go/pkg/version"
	ldflags := fmt.Sprintf("-s -w -X %s.gitVersion=%s -X %s.gitMajor=%d -X %s.gitMinor=%d -X %s.gitTreeState=clean -X %s.gitVersion=%s",
		version, b.version, version, b.version.Major(), version, b.version.Minor(), version, client, b.version)
	flags := []string{"-v", "-trimpath", "-buildvcs=false"}
	programs := func(packages ...string) func(out string) []string {
		return func(out string) []string {
			args := append([]string{"build"}, flags...)
			return append(append(args, "-ldflags", "-s -w", "-o", filepath.Join(out, scratchFolder)+string(filepath.Separator)), packages...)
		}
	}
	ofModule := []string{
		"github.com/onsi/ginkgo/v2/ginkgo", "go.etcd.io/etcd/server/v3", "k8s.io/sample-apiserver",
		KubernetesModule + "/test/images/agnhost", KubernetesModule + "/test/images/nonewprivs",
		KubernetesModule + "/test/images/resource-consumer", KubernetesModule + "/test/images/resource-consumer/consume-cpu",
	}
	return []suiteBuild{
		{name: "the tests", dir: b.module, packages: []string{testsPackage}, args: func(out string) []string {
			args := append([]string{"test", "-c"}, flags...)
			return append(args, "-ldflags", ldflags, "-o", filepath.Join(out, suiteTests), testsPackage)
		}},
		{name: "programs for images", dir: b.module, packages: ofModule, args: programs(ofModule...)},
		{name: "pause and toolbox", dir: b.node, packages: []string{"./pause", "./toolbox", "./images"}, args: programs("./pause", "./toolbox", "./images")},
		{name: "CoreDNS", dir: filepath.Join(b.node, "coredns"), packages: []string{"."}, args: programs(".")},
	}
}

// fingerprintNow covers what the programs are compiled from, what goes into images, and how.
func (b *suiteBuilder) fingerprintNow(ctx context.Context) (string, error) {
	var builds [][]string
	for _, build := range b.builds() {
		builds = append(builds, build.args("."))
	}
	sum, err := goModule{dir: b.module}.newFingerprint(ctx, builds...)
	if err != nil {
		return "", err
	}
	var images []string
	for _, image := range suiteImages() {
		images = append(images, image.name+":")
	}
	fmt.Fprintf(sum, "%s\x00%+v\x00", registriesFile, b.plan(images, "", ""))
	folders := []string{b.module}
	for _, name := range []string{"images", "pause", "toolbox", "coredns"} {
		folders = append(folders, filepath.Join(b.node, name))
	}
	for _, folder := range folders {
		if err := addSource(sum, folder, false); err != nil {
			return "", err
		}
	}
	for _, file := range append(b.programs, b.busybox) {
		if err := addFile(sum, file, file); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (b *suiteBuilder) build(ctx context.Context, dir string, report func(Step)) (made, error) {
	for _, build := range b.builds() {
		module := goModule{dir: build.dir}
		if err := module.compile(ctx, "build "+build.name, build.args(dir), build.packages, report); err != nil {
			return made{}, err
		}
	}
	scratch := filepath.Join(dir, scratchFolder)
	if err := os.Rename(filepath.Join(scratch, "ginkgo"), filepath.Join(dir, suiteRunner)); err != nil {
		return made{}, fmt.Errorf("keep ginkgo: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, suiteRegistries), []byte(registriesFile), 0o644); err != nil {
		return made{}, fmt.Errorf("write the names of registries: %w", err)
	}
	report(Step{Name: "pack images"})
	if err := b.packImages(ctx, dir); err != nil {
		return made{}, fmt.Errorf("pack images: %w", err)
	}
	if err := os.RemoveAll(scratch); err != nil {
		return made{}, fmt.Errorf("remove what is in images: %w", err)
	}
	files, err := hashTree(ctx, dir)
	return made{files: files}, err
}

// packImages lets the tests say which images they use, and packs those of them that can be made here.
func (b *suiteBuilder) packImages(ctx context.Context, dir string) error {
	upstream, err := b.upstreamFolder(ctx)
	if err != nil {
		return err
	}
	wanted, err := b.wantedImages(ctx, dir)
	if err != nil {
		return err
	}
	plan, err := b.plan(wanted, filepath.Join(dir, scratchFolder), upstream).write(filepath.Join(dir, scratchFolder))
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, imagesFolder), 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, packTimeout)
	defer cancel()
	_, err = ask(ctx, filepath.Join(dir, scratchFolder, "images"), "-out", filepath.Join(dir, imagesFolder), "-plan", plan)
	return err
}

// wantedImages are the names of all images that any of the tests uses.
func (b *suiteBuilder) wantedImages(ctx context.Context, dir string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, suiteTests), "--list-images")
	cmd.Env = append(os.Environ(), "KUBE_TEST_REPO_LIST="+filepath.Join(dir, suiteRegistries))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ask the tests for the names of their images: %w: %.500s", err, stderr.String())
	}
	return strings.Fields(string(out)), nil
}

// upstreamFolder is where the Go command keeps upstream's source.
func (b *suiteBuilder) upstreamFolder(ctx context.Context) (string, error) {
	out, err := goModule{dir: b.module}.command(ctx, "list", "-m", "-f", "{{.Dir}}", KubernetesModule).Output()
	if err != nil {
		return "", fmt.Errorf("find the source of %s: %w", KubernetesModule, err)
	}
	return strings.TrimSpace(string(out)), nil
}
