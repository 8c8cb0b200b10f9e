package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/hosting/release"
)

const sourceRoot = "../../.." // of this repository

// TestBuildAndPath builds what this source describes, which takes no time when the store of this user has it,
// and finds programs of both kinds.
func TestBuildAndPath(t *testing.T) {
	var stderr bytes.Buffer
	e := connection.New(nil, nil, &stderr)
	if err := buildReleases(t.Context(), e, releaseBuild{source: sourceRoot}); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for _, want := range []string{"✓ Kubernetes v1.", "✓ nodes of v1."} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q does not say %q", stderr.String(), want)
		}
	}
	for _, program := range []string{"kubectl", "containerd", "containerd-shim-runc-v2", "ctr", "runc"} {
		path, err := programPath(program, "")
		if err != nil {
			t.Errorf("%s: %v", program, err)
			continue
		}
		if info, err := os.Stat(path); err != nil || !filepath.IsAbs(path) || filepath.Base(path) != program || info.Mode().Perm()&0o100 == 0 {
			t.Errorf("%s is at %q: %v", program, path, err)
		}
	}
}

// TestBuildChosen: a version that is named is built alone, and a source without the folder node has nothing for nodes.
func TestBuildChosen(t *testing.T) {
	modules, err := release.Discover(t.Context(), sourceRoot)
	if err != nil {
		t.Fatal(err)
	}
	built, err := release.Choose(modules, nil) // another one would be built here, which takes a quarter of an hour
	if err != nil {
		t.Fatal(err)
	}
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "kubernetes"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		source   string
		versions []string
		wantNode bool
	}{
		"Version": {sourceRoot, []string{built[0].Version.String()}, true},
		"NoNode":  {bare, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			if err := buildReleases(t.Context(), connection.New(nil, nil, &stderr), releaseBuild{source: tc.source, versions: tc.versions}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(stderr.String(), "nodes of") != tc.wantNode {
				t.Errorf("built for nodes: want %v: %s", tc.wantNode, stderr.String())
			}
		})
	}
}

func TestPathRefuses(t *testing.T) {
	t.Setenv("KQUEEN_RELEASES", t.TempDir())
	for name, tc := range map[string]struct {
		program, version string
		code             int
		want             string
	}{
		"NoNodeParts": {"ctr", "", exit.NotFound, "no node parts are built in "},
		"NoRelease":   {"kubelet", "", exit.NotFound, "no such release is built in "},
		"NodeVersion": {"runc", "v1.36.3", exit.Usage, "leave out --version"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := programPath(tc.program, tc.version)
			if err == nil || exit.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
