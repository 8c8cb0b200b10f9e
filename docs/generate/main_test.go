package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.." // of the repository, seen from here

// TestPagesAreCurrent fails when a page is not what the definitions and the Go types say.
func TestPagesAreCurrent(t *testing.T) {
	parts, err := generate(sources{crds: root + "/api/crds", types: root + "/api/v1alpha1"})
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range parts {
		have := read(t, root+"/docs/reference/kinds/"+name)
		want, err := splice(have, part)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("docs/reference/kinds/%s is out of date; run \"make generate\" (-want +have):\n%s", name, diff)
		}
	}
	pages, err := filepath.Glob(root + "/docs/reference/kinds/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if _, ok := parts[filepath.Base(page)]; !ok {
			t.Errorf("%s is the page of no kind; remove it", page)
		}
	}
}

// TestDefinitionsAreCurrent fails when a definition or the deep copies are not what the Go types say.
func TestDefinitionsAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("builds controller-gen")
	}
	out := t.TempDir()
	generator := filepath.Join(out, "controller-gen")
	run(t, root+"/tools", "go", "build", "-trimpath", "-buildvcs=false", "-o", generator, "sigs.k8s.io/controller-tools/cmd/controller-gen")
	run(t, root+"/api/v1alpha1", generator, "object", "paths=.", "crd:crdVersions=v1",
		"output:crd:artifacts:config="+out+"/crds", "output:object:dir="+out+"/types")

	same(t, out+"/crds", root+"/api/crds", "*.yaml")
	same(t, out+"/types", root+"/api/v1alpha1", "zz_generated*.go")
}

// same fails unless the files of that pattern are the same in both folders.
func same(t *testing.T, want, have, pattern string) {
	t.Helper()
	names := map[string]bool{}
	for _, dir := range []string{want, have} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		if len(paths) == 0 {
			t.Fatalf("%s holds no %s", dir, pattern)
		}
		for _, path := range paths {
			names[filepath.Base(path)] = true
		}
	}
	for name := range names {
		if diff := cmp.Diff(read(t, filepath.Join(want, name)), read(t, filepath.Join(have, name))); diff != "" {
			t.Errorf("%s is out of date; run \"make generate\" (-want +have):\n%s", filepath.Join(have, name), diff)
		}
	}
}

// read returns the content of a file, empty when it is not there.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}

// run runs a program in dir. cgo is off as in the Makefile, so that the build cache is filled once.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
