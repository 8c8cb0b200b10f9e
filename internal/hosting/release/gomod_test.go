package release

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiscover(t *testing.T) {
	root := t.TempDir()
	if _, err := Discover(t.Context(), root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("root without modules: %v", err)
	}
	dir := filepath.Join(root, "kubernetes")
	put(t, filepath.Join(dir, "README.md"), "words")
	put(t, filepath.Join(dir, "generate", "main.go"), "package main")
	// A toolchain that is newer than any must not be fetched to read the file.
	t.Setenv("GOTOOLCHAIN", "auto")
	t.Setenv("GOPROXY", "off")
	put(t, filepath.Join(dir, "v1.100", "go.mod"), "module x/v1.100\n\ngo 1.99.9\n\nrequire k8s.io/kubernetes v1.100.1 // a comment\n")
	put(t, filepath.Join(dir, "v1.99", "go.mod"), "module x/v1.99\n\ngo 1.24\n\nrequire (\n\tk8s.io/api v0.0.0\n\tk8s.io/kubernetes v1.99.9 // indirect\n)\n")
	got, err := Discover(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	want := []ModuleInfo{
		{Version: mustVersion(t, "v1.99.9"), Dir: filepath.Join(dir, "v1.99")},
		{Version: mustVersion(t, "v1.100.1"), Dir: filepath.Join(dir, "v1.100")},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Version{})); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestDiscoverNamesTheFile(t *testing.T) {
	for name, tc := range map[string]struct{ content, want string }{
		"Unreadable":    {"modul x\n", "unknown directive: modul"},
		"NoRequirement": {"module x\n", "does not require k8s.io/kubernetes"},
		"NoRelease":     {"module x\n\nrequire k8s.io/kubernetes v1.36.0+incompatible\n", "requires k8s.io/kubernetes"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			file := filepath.Join(root, "kubernetes", "v1.36", "go.mod")
			put(t, file, tc.content)
			_, err := Discover(t.Context(), root)
			for _, part := range []string{file, tc.want} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %q", err, part)
				}
			}
		})
	}
}

// TestChoose: the newest alone is built, unless others are asked for; a version that the source does not have is named, with those that it has.
func TestChoose(t *testing.T) {
	var modules []ModuleInfo
	for _, text := range []string{"v1.35.4", "v1.36.9"} {
		version, err := ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, ModuleInfo{Version: version})
	}
	for name, tc := range map[string]struct {
		versions []string
		want     []string
		problem  string
	}{
		"newest":  {nil, []string{"v1.36.9"}, ""},
		"chosen":  {[]string{"v1.36.9"}, []string{"v1.36.9"}, ""},
		"unknown": {[]string{"v1.36.9", "v1.37.0"}, nil, "the source has no module for v1.37.0; it has v1.35.4, v1.36.9; add a minor with: go run ./kubernetes/generate v1.37.0"},
	} {
		chosen, err := Choose(modules, tc.versions)
		var got []string
		for _, m := range chosen {
			got = append(got, m.Version.String())
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if (err == nil) != (tc.problem == "") || err != nil && err.Error() != tc.problem {
			t.Errorf("%s: got %v, want %q", name, err, tc.problem)
		}
	}
}
