package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/release"
)

// TestRealSuite looks at the conformance tests of this source, which are made where they are not there yet.
func TestRealSuite(t *testing.T) {
	skipShort(t)
	dir, err := release.DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := release.Discover(t.Context(), "../../..")
	if err != nil {
		t.Fatal(err)
	}
	version := modules[len(modules)-1].Version
	source := release.SuiteSource{Module: "../../../test/conformance/" + version.MinorString(), Node: "../../../node"}
	suite, err := release.NewStore(dir).EnsureSuite(t.Context(), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	if suite.Version != version {
		t.Errorf("the tests are of %s, want %s", suite.Version, version)
	}
	for program, args := range map[string][]string{suite.Tests(): {"--version"}, suite.Runner(): {"version"}} {
		wantStatic(t, program)
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), version.String()) && !strings.HasPrefix(string(out), "Ginkgo Version 2.") {
			t.Errorf("%s says %q: %v", program, out, err)
		}
	}
	archives, err := filepath.Glob(filepath.Join(suite.Images(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, archive := range archives {
		names = append(names, filepath.Base(archive))
	}
	if diff := cmp.Diff([]string{"debian.tar", "etcd.tar", "nonewprivs.tar", "pause.tar", "resource-consumer.tar", "sample-apiserver.tar"}, names); diff != "" {
		t.Errorf("archives: -want, +got:\n%s", diff)
	}
	list := exec.CommandContext(t.Context(), suite.Tests(), "--list-images")
	list.Env = append(os.Environ(), "KUBE_TEST_REPO_LIST="+suite.Registries())
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	if wanted := strings.Fields(string(out)); !slices.Contains(wanted, "kqueen.internal/pause:3.10.2") && version.MinorString() == "v1.36" {
		t.Errorf("with these registries the tests want %q", wanted)
	}
}
