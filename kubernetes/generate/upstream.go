package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kqueen.io/kqueen/internal/hosting/release"
)

// upstream is what the go.mod of k8s.io/kubernetes says about building it elsewhere.
type upstream struct {
	Go      string
	Godebug string
	// Staging are the modules that live in the repository of Kubernetes and are
	// published with every release of it: k8s.io/api and others.
	Staging []string
	// TestImports are the packages that upstream's program of end-to-end tests imports, and its own.
	TestImports []string
}

// testsFile is where upstream's program of end-to-end tests has its imports.
const testsFile = "test/e2e/e2e_test.go"

// readUpstream fetches no more than the go.mod of a version.
func readUpstream(ctx context.Context, v release.Version) (upstream, error) {
	var found struct{ GoMod string }
	err := goJSON(ctx, &found, "list", "-m", "-json", release.KubernetesModule+"@"+v.String())
	if err != nil {
		return upstream{}, explainMissing(ctx, v, err)
	}
	mod, err := release.ReadGoMod(ctx, found.GoMod)
	if err != nil {
		return upstream{}, fmt.Errorf("upstream's go.mod of %s: %w", v, err)
	}
	up := upstream{Go: mod.Go}
	for _, setting := range mod.Godebug {
		if setting.Key == "default" {
			up.Godebug = setting.Value
		}
	}
	for _, replace := range mod.Replace {
		if strings.HasPrefix(replace.New.Path, "./staging/") {
			up.Staging = append(up.Staging, replace.Old.Path)
		}
	}
	if len(up.Staging) == 0 {
		return upstream{}, fmt.Errorf("upstream's go.mod of %s has no replacement with ./staging/: its layout changed, and this command must learn the new one", v)
	}
	if up.TestImports, err = readTestImports(ctx, v); err != nil {
		return upstream{}, fmt.Errorf("upstream's %s of %s: %w", testsFile, v, err)
	}
	return up, nil
}

// readTestImports leaves out the standard library.
func readTestImports(ctx context.Context, v release.Version) ([]string, error) {
	var found struct{ Dir string }
	if err := goJSON(ctx, &found, "mod", "download", "-json", release.KubernetesModule+"@"+v.String()); err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(found.Dir, testsFile), nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	all := []string{release.KubernetesModule + "/" + path.Dir(testsFile)}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if domain, _, _ := strings.Cut(imported, "/"); strings.Contains(domain, ".") {
			all = append(all, imported)
		}
	}
	slices.Sort(all)
	return all, nil
}

// explainMissing tells a version that is not published from a network that is not there.
func explainMissing(ctx context.Context, v release.Version, cause error) error {
	var known struct{ Versions []string }
	if err := goJSON(ctx, &known, "list", "-m", "-versions", "-json", release.KubernetesModule); err != nil {
		return fmt.Errorf("find %s %s: %w", release.KubernetesModule, v, cause)
	}
	var same []string
	for _, version := range known.Versions {
		if version == v.String() {
			return fmt.Errorf("find %s %s: %w", release.KubernetesModule, v, cause)
		}
		if strings.HasPrefix(version, v.MinorString()+".") {
			same = append(same, version)
		}
	}
	if len(same) == 0 {
		return fmt.Errorf("the module proxy has no %s %s, and nothing else of %s: it knows %s",
			release.KubernetesModule, v, v.MinorString(), strings.Join(known.Versions, " "))
	}
	return fmt.Errorf("the module proxy has no %s %s: of %s it knows %s",
		release.KubernetesModule, v, v.MinorString(), strings.Join(same, " "))
}

// goJSON runs the Go command outside any module and decodes what it prints.
func goJSON(ctx context.Context, into any, args ...string) error {
	out, err := runGo(ctx, os.TempDir(), args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("decode the answer of go %s: %w", args[0], err)
	}
	return nil
}

func runGo(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w, its last lines are:\n%s", strings.Join(args, " "), err, lastLines(stderr.String()))
	}
	return out, nil
}

// lastLines leaves out the hundreds of lines about downloads that come before an error.
func lastLines(text string) string {
	const keep = 20
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-keep):], "\n")
}
