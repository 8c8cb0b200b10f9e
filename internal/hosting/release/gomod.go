package release

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	modFile = "go.mod"
	// KubernetesModule is the Go module that holds the programs of Kubernetes.
	KubernetesModule = "k8s.io/kubernetes"
)

// ModuleInfo is a Go module that builds the programs of one Kubernetes version.
type ModuleInfo struct {
	Version Version
	// Dir is the module's folder, fit for [Build].
	Dir string
}

// Module is a module path and its version. Version is empty for a local folder.
type Module struct{ Path, Version string }

// GoMod is what matters here of a go.mod file.
type GoMod struct {
	Module  Module
	Go      string
	Godebug []struct{ Key, Value string }
	Require []Module
	Replace []struct{ Old, New Module }
}

// Discover finds the modules kubernetes/*/go.mod below a root folder, oldest version
// first. Folders without go.mod are skipped; an error names the file it is about.
// Where root has no folder kubernetes, the error is an [fs.ErrNotExist].
func Discover(ctx context.Context, root string) ([]ModuleInfo, error) {
	parent := filepath.Join(root, "kubernetes")
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil, fmt.Errorf("find kubernetes modules: %w", err)
	}
	var found []ModuleInfo
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		info, err := ReadModule(ctx, filepath.Join(parent, entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find kubernetes modules: %w", err)
		}
		found = append(found, info)
	}
	slices.SortFunc(found, func(a, b ModuleInfo) int { return a.Version.Compare(b.Version) })
	return found, nil
}

// NoModuleError says that the source has no module for a version.
type NoModuleError struct {
	Version string
	Known   []ModuleInfo
}

func (e *NoModuleError) Error() string {
	var known []string
	for _, m := range e.Known {
		known = append(known, m.Version.String())
	}
	return fmt.Sprintf("the source has no module for %s; it has %s; add a minor with: go run ./kubernetes/generate %s", e.Version, strings.Join(known, ", "), e.Version)
}

// Choose picks the modules of the given versions, or the newest: each one takes minutes to build. modules are as [Discover] returns them.
// The error is a [*NoModuleError].
func Choose(modules []ModuleInfo, versions []string) ([]ModuleInfo, error) {
	if len(versions) == 0 {
		return modules[max(0, len(modules)-1):], nil
	}
	var chosen []ModuleInfo
	for _, v := range versions {
		i := slices.IndexFunc(modules, func(m ModuleInfo) bool { return m.Version.String() == v })
		if i < 0 {
			return nil, &NoModuleError{Version: v, Known: modules}
		}
		chosen = append(chosen, modules[i])
	}
	return chosen, nil
}

// ReadModule tells which Kubernetes version the module in a folder builds: the one of
// its requirement k8s.io/kubernetes. A folder without go.mod is an [fs.ErrNotExist].
func ReadModule(ctx context.Context, dir string) (ModuleInfo, error) {
	file := filepath.Join(dir, modFile)
	mod, err := ReadGoMod(ctx, file)
	if err != nil {
		return ModuleInfo{}, err
	}
	i := slices.IndexFunc(mod.Require, func(m Module) bool { return m.Path == KubernetesModule })
	if i < 0 {
		return ModuleInfo{}, fmt.Errorf("%s does not require %s: add the version that it should build", file, KubernetesModule)
	}
	v, err := ParseVersion(mod.Require[i].Version)
	if err != nil {
		return ModuleInfo{}, fmt.Errorf("%s requires %s: %w", file, KubernetesModule, err)
	}
	return ModuleInfo{Version: v, Dir: dir}, nil
}

// ReadGoMod reads a go.mod file with the Go command, which needs neither network nor
// the toolchain that the file asks for. A missing file is an [fs.ErrNotExist]; a
// missing Go command an [exec.ErrNotFound].
func ReadGoMod(ctx context.Context, file string) (GoMod, error) {
	if _, err := os.Stat(file); err != nil {
		return GoMod{}, fmt.Errorf("read %s: %w", file, err)
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "edit", "-json", filepath.Base(file))
	cmd.Dir = filepath.Dir(file)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return GoMod{}, fmt.Errorf("read %s: %w: %s", file, err, strings.TrimSpace(stderr.String()))
	}
	var mod GoMod
	if err := json.Unmarshal(out, &mod); err != nil {
		return GoMod{}, fmt.Errorf("read %s: decode: %w", file, err)
	}
	return mod, nil
}
