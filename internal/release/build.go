package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	multiCall = "kubernetes"
	// reportEvery is how often a long step reports.
	reportEvery = time.Second
	// stopGrace is how long the Go command may take to clean up after an interrupt.
	stopGrace = 10 * time.Second
	// versionTimeout is for "--version", which answers in 0.1 s once it is in memory.
	versionTimeout = time.Minute
)

// builder compiles the programs of one version into one file.
type builder struct {
	module      string // absolute
	version     Version
	fingerprint string
}

func newBuilder(ctx context.Context, v Version, src *Build) (*builder, error) {
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
	b := &builder{module: module, version: v}
	if b.fingerprint, err = b.fingerprintNow(ctx); err != nil {
		return nil, fmt.Errorf("fingerprint of %s: %w", src.Module, err)
	}
	return b, nil
}

func (b *builder) origin() Origin {
	return Origin{Kind: "build", From: b.module, Fingerprint: b.fingerprint}
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
	return []string{"build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", strings.Join(flags, " "), "-o", out, "."}
}

// fingerprintNow hashes everything of ours that decides what a build gives. The modules
// it requires are covered by go.sum, embedded files and local replacements are not.
func (b *builder) fingerprintNow(ctx context.Context) (string, error) {
	goEnv, err := b.goCommand(ctx, "env", "GOVERSION", "GOARCH").Output()
	if err != nil {
		return "", fmt.Errorf("ask the Go command for its version: %w", err)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00%s\x00", goEnv, strings.Join(b.arguments(multiCall), "\x00"))
	err = filepath.WalkDir(b.module, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipNestedModule(path, b.module)
		}
		if !isBuildInput(entry.Name()) {
			return nil
		}
		return addToHash(sum, b.module, path)
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

func skipNestedModule(dir, module string) error {
	if dir == module {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, modFile)); err == nil {
		return fs.SkipDir
	}
	return nil
}

func isBuildInput(name string) bool {
	return name == modFile || name == "go.sum" ||
		strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// addToHash adds a file's name, size and content, so that no two sets of files look alike.
func addToHash(sum io.Writer, root, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(sum, "%s\x00%d\x00%s", name, len(content), content)
	return err
}

func (b *builder) build(ctx context.Context, dir string, report func(Step)) (map[string]Component, error) {
	file := filepath.Join(dir, multiCall)
	if err := b.compile(ctx, file, report); err != nil {
		return nil, err
	}
	for _, name := range Components {
		if err := os.Symlink(multiCall, filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("link %s: %w", name, err)
		}
	}
	report(Step{Name: "check the version of the build"})
	if err := checkVersion(ctx, file, b.version); err != nil {
		return nil, err
	}
	made, err := hashFile(ctx, file)
	if err != nil {
		return nil, err
	}
	components := map[string]Component{}
	for _, name := range Components {
		components[name] = made
	}
	return components, syncFile(file)
}

func (b *builder) compile(ctx context.Context, file string, report func(Step)) error {
	start := time.Now()
	report(Step{Name: "count packages"})
	total := b.countPackages(ctx)
	log := &buildLog{}
	cmd := b.goCommand(ctx, b.arguments(file)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the Go command: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for {
		report(Step{Name: "build", Elapsed: time.Since(start), Done: log.packages(), Total: total, Unit: "packages"})
		select {
		case <-ticker.C:
		case err := <-done:
			if ctx.Err() != nil {
				return fmt.Errorf("build: %w", context.Cause(ctx))
			}
			if err != nil {
				return fmt.Errorf("build: %w, its last lines are:\n%s", err, log.tail())
			}
			return nil
		}
	}
}

// countPackages is for the progress display only: 0 when it cannot be known, because
// the build that follows says better what is wrong.
func (b *builder) countPackages(ctx context.Context) int64 {
	out, err := b.goCommand(ctx, "list", "-deps", ".").Output()
	if err != nil {
		return 0
	}
	return int64(strings.Count(string(out), "\n"))
}

// goCommand runs Go in the module, for this machine and without C. Ending ctx interrupts
// the compilers as well, and lets the Go command remove its temporary files.
func (b *builder) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOWORK=off")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGINT) }
	cmd.WaitDelay = stopGrace
	return cmd
}

// checkVersion starts the fresh program: a build that does not know its version would
// be refused by every skew check of Kubernetes itself.
func checkVersion(ctx context.Context, file string, v Version) error {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, file, "kube-apiserver", "--version").CombinedOutput()
	got := strings.TrimSpace(string(out))
	if err != nil {
		return fmt.Errorf("ask the build for its version: %w: %.500s", err, got)
	}
	if want := "Kubernetes " + v.String(); got != want {
		return fmt.Errorf("the build says it is %.100q instead of %q: check the module's requirements and replacements", got, want)
	}
	return nil
}
