package release

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArchivesOf(t *testing.T) {
	got := map[string][]string{}
	for _, archive := range archivesOf([]string{
		"kqueen.internal/e2e-test-images/agnhost:2.55", "kqueen.internal/e2e-test-images/agnhost:2.63.0", "kqueen.internal/pause:3.10",
		"kqueen.internal/e2e-test-images/busybox:1.37.0-1", "kqueen.internal/e2e-test-images/volume/nfs:1", "gcr.io/k8s-authenticated-test/agnhost:2.6",
	}) {
		for _, image := range archive.Images {
			got[archive.File] = append(got[archive.File], image.Name)
		}
	}
	want := map[string][]string{
		"debian.tar": {
			"kqueen.internal/e2e-test-images/agnhost:2.55", "kqueen.internal/e2e-test-images/agnhost:2.63.0", "kqueen.internal/e2e-test-images/busybox:1.37.0-1",
		},
		"pause.tar": {"kqueen.internal/pause:3.10"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestSuitePlan looks for what would make the packer stop, or a container not start.
func TestSuitePlan(t *testing.T) {
	b := &suiteBuilder{busybox: "/bin/busybox", programs: []string{"/lib64/ld.so", "/usr/bin/bash", "/usr/bin/nc.openbsd"}}
	var names []string
	for _, image := range suiteImages() {
		names = append(names, image.name+":1")
	}
	plan := b.plan(names, "/built", "/upstream")
	packed := 0
	for _, archive := range plan.Archives {
		for _, image := range archive.Images {
			packed++
			for _, layer := range image.Layers {
				if _, ok := plan.Layers[layer]; !ok {
					t.Errorf("%s has a layer %q, which the plan has not", image.Name, layer)
				}
			}
		}
	}
	if packed != len(names) {
		t.Errorf("%d of %d images are packed", packed, len(names))
	}
	var files []string
	for _, f := range plan.Layers[layerDebian].Files {
		files = append(files, f.Path+" from "+f.From+f.Link)
	}
	want := []string{"bin/sh from /usr/bin/bash", "lib64/ld.so from /lib64/ld.so", "usr/bin/bash from /usr/bin/bash", "usr/bin/nc from /usr/bin/nc.openbsd"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("Debian's files: -want, +got:\n%s", diff)
	}
}

// TestWithLibraries starts a program with nothing but the files that were found.
func TestWithLibraries(t *testing.T) {
	files, err := withLibraries(t.Context(), []string{"bash", "dig"})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	loader := ""
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(root+file), 0o700), os.WriteFile(root+file, content, 0o700)); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(filepath.Base(file), "ld-linux") {
			loader = file
		}
	}
	if !slices.IsSorted(files) || loader == "" {
		t.Fatalf("found %q", files)
	}
	libraries := map[string]bool{}
	for _, file := range files {
		libraries[filepath.Dir(root+file)] = true
	}
	// With this path and without a cache, the loader finds nothing elsewhere that it needs.
	cmd := exec.CommandContext(t.Context(), root+loader, "--inhibit-cache", "--library-path", strings.Join(sortedKeys(libraries), ":"), root+"/usr/bin/dig", "-v")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "DiG ") {
		t.Errorf("dig says %q: %v", out, err)
	}
}

func TestSuiteRefuses(t *testing.T) {
	_, err := withLibraries(t.Context(), []string{"no-such-program"})
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("a missing program: %v", err)
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := withLibraries(t.Context(), []string{busybox}); err == nil || !strings.Contains(err.Error(), "names no loader") {
		t.Errorf("a static program: %v", err)
	}
	_, err = NewStore(t.TempDir()).EnsureSuite(t.Context(), SuiteSource{Module: t.TempDir(), Node: t.TempDir()}, nil)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "conformance tests: ") {
		t.Errorf("no module: %v", err)
	}
}
