package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/release"
)

// The checks of the real modules need the go.mod of upstream, nothing else of it.

const testModules = "../../test/conformance"

func TestModulesAreAsGenerated(t *testing.T) {
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"--check", "--out", "..", "--tests-out", testModules}, &stdout, &stdout); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), "v1.36") {
		t.Errorf("v1.36 was not checked: %q", &stdout)
	}
}

func TestCheckFindsDrift(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, file, from, to string
		want                   []string
	}{
		"Program": {"main.go is the template", "main.go", "package main", "package main // mine",
			[]string{"v1.36: main.go is not as its template"}},
		"Replacement": {"staging modules go with the version", "go.mod", "=> k8s.io/api v0.36.3", "=> k8s.io/api v0.36.1",
			[]string{"replaces k8s.io/api  by k8s.io/api v0.36.1, want k8s.io/api v0.36.3"}},
		"LocalFork": {"upstream is not forked", "go.mod", "=> k8s.io/api v0.36.3", "=> ../api",
			[]string{"replaces k8s.io/api  by ../api"}},
		"ReplacementGone": {"every staging module is replaced", "go.mod", "\tk8s.io/streaming => k8s.io/streaming v0.36.3\n", "",
			[]string{"lacks the replacement of k8s.io/streaming by k8s.io/streaming v0.36.3"}},
		"ReplacementMore": {"nothing else is replaced", "go.mod", "\tk8s.io/streaming =>", "\texample.test/x => example.test/y v1.0.0\n\tk8s.io/streaming =>",
			[]string{"replaces example.test/x, which upstream does not"}},
		"OnlyOneVersion": {"a replacement is for all versions", "go.mod", "\tk8s.io/api =>", "\tk8s.io/api v0.1.0 =>",
			[]string{"replaces k8s.io/api v0.1.0 by"}},
		"Version": {"all must follow the required version", "go.mod", "k8s.io/kubernetes v1.36.3", "k8s.io/kubernetes v1.36.1",
			[]string{"replaces k8s.io/kubelet  by k8s.io/kubelet v0.36.3, want k8s.io/kubelet v0.36.1"}},
		"Name": {"the name tells the minor", "go.mod", "module kqueen.io/kubernetes/v1.36", "module kqueen.io/kubernetes/v1.37",
			[]string{"module is kqueen.io/kubernetes/v1.37, want kqueen.io/kubernetes/v1.36"}},
		"Godebug": {"the programs behave as upstream's", "go.mod", "godebug default=go1.26\n", "",
			[]string{`godebug is "", want "default=go1.26" as upstream`}},
	} {
		t.Run(name, func(t *testing.T) {
			out := copyModule(t, "v1.36")
			file := filepath.Join(out, "v1.36", tc.file)
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(content), tc.from, tc.to, 1)
			if changed == string(content) {
				t.Fatal("the test changed nothing")
			}
			if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			wantError(t, tc.reason, run(t.Context(), []string{"--check", "--out", out, "--tests-out", testModules}, &bytes.Buffer{}, &bytes.Buffer{}), tc.want)
		})
	}
}

// copyModule copies the module v1.36 into a folder of the given name, alone in a parent.
func copyModule(t *testing.T, name string) string {
	t.Helper()
	out := t.TempDir()
	if err := os.CopyFS(filepath.Join(out, name), os.DirFS("../v1.36")); err != nil {
		t.Fatal(err)
	}
	return out
}

func wantError(t *testing.T, reason string, err error, want []string) {
	t.Helper()
	for _, part := range want {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v does not say %q", reason, err, part)
		}
	}
}

func TestCheckOfCopies(t *testing.T) {
	if err := run(t.Context(), []string{"--check", "--out", copyModule(t, "v1.36"), "--tests-out", testModules}, &bytes.Buffer{}, &bytes.Buffer{}); err != nil {
		t.Errorf("an unchanged copy: %v", err)
	}
	err := run(t.Context(), []string{"--check", "--out", copyModule(t, "v1.37"), "--tests-out", testModules}, &bytes.Buffer{}, &bytes.Buffer{})
	wantError(t, "the folder tells the minor", err, []string{"the folder should be v1.36, as it requires v1.36.3"})
}

func TestBadArguments(t *testing.T) {
	empty := t.TempDir()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"Nothing":          {nil, "give one, for example v1.35.4"},
		"Two":              {[]string{"v1.35.4", "v1.34.0"}, "2 versions given"},
		"NoV":              {[]string{"1.35.4"}, `write it as "v1.35.4"`},
		"Minor":            {[]string{"v1.35"}, "2 of the three numbers"},
		"CheckWithVersion": {[]string{"v1.35.4", "--check"}, "--check takes no version"},
		"NothingToCheck":   {[]string{"--check", "--out", empty}, "no module below " + empty},
		"NoFolder":         {[]string{"--check", "--out", filepath.Join(empty, "none")}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, name, run(t.Context(), tc.args, &bytes.Buffer{}, &bytes.Buffer{}), []string{tc.want})
		})
	}
}

func TestHelpHasExamples(t *testing.T) {
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"--help"}, &stdout, &stdout); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"go run ./kubernetes/generate v1.35.4", "--check", "--out"} {
		if !strings.Contains(stdout.String(), part) {
			t.Errorf("help does not say %q:\n%s", part, &stdout)
		}
	}
}

func TestOwnMod(t *testing.T) {
	v, err := release.ParseVersion("v1.99.2-rc.1")
	if err != nil {
		t.Fatal(err)
	}
	up := upstream{Go: "1.30.1", Godebug: "go1.30", Staging: []string{"k8s.io/api", "k8s.io/kubectl"}}
	want := `module kqueen.io/kubernetes/v1.99

go 1.30.1

godebug default=go1.30

require k8s.io/kubernetes v1.99.2-rc.1

replace (
	k8s.io/api => k8s.io/api v0.99.2-rc.1
	k8s.io/kubectl => k8s.io/kubectl v0.99.2-rc.1
)
`
	programs, tests := kinds()
	if diff := cmp.Diff(want, string(programs.ownMod(v, up))); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	up.TestImports = []string{"example.test/a", "example.test/b"}
	wantFile := `// Code generated by kubernetes/generate; DO NOT EDIT.

// Package conformance makes this module require what the conformance tests of Kubernetes are built from.
package conformance

import (
	_ "example.test/a"
	_ "example.test/b"
)
`
	sources, err := tests.sources(up)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]byte{"imports.go": []byte(wantFile)}, sources); diff != "" {
		t.Errorf("imports of the tests: -want, +got:\n%s", diff)
	}
	tests.tools = []string{"example.test/tool"}
	if got := string(tests.ownMod(v, up)); !strings.Contains(got, "module kqueen.io/conformance/v1.99\n") || !strings.Contains(got, "\ntool example.test/tool\n") {
		t.Errorf("module of the tests:\n%s", got)
	}
}
