package release

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
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
	// reportEvery is how often a long step reports.
	reportEvery = time.Second
	// stopGrace is how long the Go command may take to clean up after an interrupt.
	stopGrace = 10 * time.Second
	// askTimeout is for "--version", which answers in 0.1 s once it is in memory.
	askTimeout = time.Minute
)

// goModule is a folder with a go.mod in which the Go command works.
type goModule struct {
	dir string // absolute
	cgo bool
}

// command runs Go in the module, for this machine and without C unless the module wants
// it. Ending ctx interrupts the compilers as well, and lets the Go command remove its
// temporary files.
func (g goModule) command(ctx context.Context, args ...string) *exec.Cmd {
	cgo := "CGO_ENABLED=0"
	if g.cgo {
		cgo = "CGO_ENABLED=1"
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), cgo, "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOWORK=off")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGINT) }
	cmd.WaitDelay = stopGrace
	return cmd
}

// compile runs "go build" with those arguments, which must have -v and end with the
// packages. step is what is reported.
func (g goModule) compile(ctx context.Context, step string, args, packages []string, report func(Step)) error {
	start := time.Now()
	report(Step{Name: "count packages"})
	total := g.countPackages(ctx, packages)
	log := &buildLog{}
	cmd := g.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the Go command: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for {
		report(Step{Name: step, Elapsed: time.Since(start), Done: log.packages(), Total: total, Unit: "packages"})
		select {
		case <-ticker.C:
		case err := <-done:
			if ctx.Err() != nil {
				return fmt.Errorf("%s: %w", step, context.Cause(ctx))
			}
			if err != nil {
				return fmt.Errorf("%s: %w, its last lines are:\n%s", step, err, log.tail())
			}
			return nil
		}
	}
}

// countPackages is for the progress display only: 0 when it cannot be known, because
// the build that follows says better what is wrong.
func (g goModule) countPackages(ctx context.Context, packages []string) int64 {
	out, err := g.command(ctx, append([]string{"list", "-deps"}, packages...)...).Output()
	if err != nil {
		return 0
	}
	return int64(strings.Count(string(out), "\n"))
}

// newFingerprint begins a hash of everything of ours that decides what builds give: with
// the toolchain and the arguments of each build.
func (g goModule) newFingerprint(ctx context.Context, builds ...[]string) (hash.Hash, error) {
	goEnv, err := g.command(ctx, "env", "GOVERSION", "GOARCH").Output()
	if err != nil {
		return nil, fmt.Errorf("ask the Go command for its version: %w", err)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00", goEnv)
	for _, args := range builds {
		fmt.Fprintf(sum, "%s\x00", strings.Join(args, "\x00"))
	}
	return sum, nil
}

// addSource hashes what is compiled in a module, and in those in its folders when nested
// is set. The modules it requires are covered by go.sum, embedded files and local
// replacements are not.
func addSource(sum io.Writer, module string, nested bool) error {
	return filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if nested {
				return nil
			}
			return skipNestedModule(path, module)
		}
		if !isBuildInput(entry.Name()) {
			return nil
		}
		name, err := filepath.Rel(module, path)
		if err != nil {
			return err
		}
		return addFile(sum, name, path)
	})
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

// addFile hashes a file's name, size and content, so that no two sets of files look alike.
func addFile(sum io.Writer, name, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(sum, "%s\x00%d\x00%s", name, len(content), content)
	return err
}

// ask runs a program for what it says about itself or this machine.
func ask(ctx context.Context, file string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, file, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ask %s %s: %w: %.500s", filepath.Base(file), strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
