package release

import (
	"context"
	"fmt"
	"path/filepath"
)

// suitePrefix begins the name of the folder of a suite.
const suitePrefix = "conformance-"

// Names of files of a suite.
const (
	suiteTests      = "bin/e2e.test"
	suiteRunner     = "bin/ginkgo"
	suiteRegistries = "registries.yaml"
)

// Suite is upstream's conformance tests of a version, with what they need where no registry can be reached.
type Suite struct {
	// Version of Kubernetes that the tests are for.
	Version Version
	// Dir holds everything.
	Dir string
}

// Tests is the program e2e.test.
func (s Suite) Tests() string { return filepath.Join(s.Dir, suiteTests) }

// Runner is the program ginkgo, of the version with which the tests were built.
func (s Suite) Runner() string { return filepath.Join(s.Dir, suiteRunner) }

// Images is a folder with the archives of the images that the tests use.
func (s Suite) Images() string { return filepath.Join(s.Dir, imagesFolder) }

// Registries is the file that tells the tests the names of those images; it goes into KUBE_TEST_REPO_LIST.
func (s Suite) Registries() string { return filepath.Join(s.Dir, suiteRegistries) }

// SuiteSource is what a suite is made from, as in KQueen's source.
type SuiteSource struct {
	// Module is the folder of a Go module such as test/conformance/v1.36, which requires k8s.io/kubernetes.
	Module string
	// Node is the folder node, of which some programs become images.
	Node string
}

// EnsureSuite provides the conformance tests that a module builds and blocks until they are there: minutes for a
// first build, no time when they are there already. They are made anew when the Go files and requirements of the
// module or of node changed, the Go toolchain, the build commands, or the Debian programs that go into images.
// Otherwise it is as [Store.EnsureNode].
func (s *Store) EnsureSuite(ctx context.Context, src SuiteSource, report func(Step)) (Suite, error) {
	if report == nil {
		report = func(Step) {}
	}
	suite, err := s.ensureSuite(ctx, src, report)
	if err != nil {
		return Suite{}, fmt.Errorf("conformance tests: %w", err)
	}
	return suite, nil
}

func (s *Store) ensureSuite(ctx context.Context, src SuiteSource, report func(Step)) (Suite, error) {
	info, err := ReadModule(ctx, src.Module)
	if err != nil {
		return Suite{}, err
	}
	name := suitePrefix + info.Version.String()
	unlock, err := s.lock(ctx, name, report)
	if err != nil {
		return Suite{}, err
	}
	defer unlock()
	work, err := newSuiteBuilder(ctx, info.Version, src)
	if err != nil {
		return Suite{}, err
	}
	at := slot{name: name, folder: name, version: info.Version, files: []string{suiteTests, suiteRunner}}
	if _, err := s.fill(ctx, at, work, report); err != nil {
		return Suite{}, err
	}
	return Suite{Version: info.Version, Dir: filepath.Join(s.dir, name)}, nil
}
