package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
)

// fakeMain answers like the real programs, with the version that the linker put in.
const fakeMain = `package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	client "k8s.io/client-go/pkg/version"
	"k8s.io/component-base/version"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("Kubernetes", version.Get())
		return
	}
	info, _ := debug.ReadBuildInfo()
	cgo := ""
	for _, s := range info.Settings {
		if s.Key == "CGO_ENABLED" {
			cgo = s.Value
		}
	}
	fmt.Println(filepath.Base(os.Args[0]), version.All(), client.Get(), "cgo", cgo)
}
`

const fakeVersion = `package version

var gitVersion, gitMajor, gitMinor, gitTreeState string

func Get() string { return gitVersion }
func All() string { return gitVersion + " " + gitMajor + " " + gitMinor + " " + gitTreeState }
`

// fakeModule is a module as kubernetes/vX.Y, with local replacements for upstream.
func fakeModule(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds programs, which -short leaves out")
	}
	t.Setenv("GOPROXY", "off") // nothing of this needs a network
	dir := t.TempDir()
	var requires, replaces strings.Builder
	for name, version := range map[string]string{"kubernetes": testVersion, "component-base": "v0.99.9", "client-go": "v0.99.9"} {
		fmt.Fprintf(&requires, "require k8s.io/%s %s\n", name, version)
		fmt.Fprintf(&replaces, "replace k8s.io/%s => ./upstream/%s\n", name, name)
		put(t, filepath.Join(dir, "upstream", name, "go.mod"), "module k8s.io/"+name+"\n\ngo 1.24\n")
	}
	put(t, filepath.Join(dir, "go.mod"), "module example.test/kubernetes\n\ngo 1.24\n\n"+requires.String()+replaces.String())
	put(t, filepath.Join(dir, "main.go"), fakeMain)
	put(t, filepath.Join(dir, "upstream/component-base/version/version.go"), fakeVersion)
	put(t, filepath.Join(dir, "upstream/client-go/pkg/version/version.go"), fakeVersion)
	return dir
}

func put(t *testing.T, file, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// builds counts how often an Ensure compiled.
type builds struct {
	n     int
	steps []Step
}

func (b *builds) report(s Step) {
	b.steps = append(b.steps, s)
	if s.Name == "count packages" {
		b.n++
	}
}

func TestBuild(t *testing.T) {
	module := fakeModule(t)
	store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
	src := Source{Build: &Build{Module: module}}
	var seen builds
	b, err := store.Ensure(t.Context(), v, src, seen.report)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range controlPlaneComponents {
		out, err := exec.CommandContext(t.Context(), b.Path(name)).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(name+" v1.99.9 1 99 clean v1.99.9 cgo 0\n", string(out)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
		if target, err := os.Readlink(b.Path(name)); target != "kubernetes" {
			t.Errorf("%s links to %q (%v), want the one file", name, target, err)
		}
	}
	if err := b.Verify(t.Context()); err != nil {
		t.Errorf("fresh build: %v", err)
	}
	last := seen.steps[len(seen.steps)-2]
	if last.Name != "build" || last.Total < 10 || last.Done > last.Total {
		t.Errorf("step before the check: %+v, want a build of at least ten packages", last)
	}
	if _, err := store.Ensure(t.Context(), v, src, seen.report); err != nil || seen.n != 1 {
		t.Errorf("second Ensure: %v, %d builds; want 1", err, seen.n)
	}
}

// TestBuildNode: the programs of nodes follow those of control planes, and other processes see how far they are.
func TestBuildNode(t *testing.T) {
	src := NodeSource{Kubernetes: fakeModule(t), Parts: fakeNode(t)}
	store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
	before, err := store.Ensure(t.Context(), v, Source{Build: &Build{Module: src.Kubernetes}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if before.HasNode() || before.Path("kubelet") != "" {
		t.Errorf("programs of nodes are there before they are made: %q", before.Path("kubelet"))
	}
	if step, ok := store.NodeBuild(); ok {
		t.Errorf("nothing is being made, and it says %s", step)
	}
	var seen builds
	var others []string
	_, err = store.EnsureNode(t.Context(), v, src, func(s Step) {
		seen.report(s)
		if step, ok := NewStore(store.dir).NodeBuild(); ok {
			others = append(others, step.Name)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(others, "begin") || !slices.Contains(others, "count packages") {
		t.Errorf("others saw %q", others)
	}
	after, ok, err := store.Lookup(v)
	if err != nil || !ok || !after.HasNode() || after.Verify(t.Context()) != nil {
		t.Fatalf("not all programs are there: %v, %v, %v", after, ok, err)
	}
	for _, name := range NodeComponents {
		out, err := exec.CommandContext(t.Context(), after.Path(name)).Output()
		if want := name + " v1.99.9 1 99 clean v1.99.9 cgo 0\n"; err != nil || string(out) != want {
			t.Errorf("%s: %q (%v), want %q", name, out, err, want)
		}
	}
	if step, ok := store.NodeBuild(); ok {
		t.Errorf("all is made, and it says %s", step)
	}
	if slices.Contains(names(t, store.dir), progressFile) {
		t.Error("the progress is left behind")
	}
	n := seen.n
	if _, err := store.EnsureNode(t.Context(), v, src, seen.report); err != nil || seen.n != n {
		t.Errorf("second EnsureNode: %v, %d builds more; want none", err, seen.n-n)
	}
}

func TestBuildFingerprint(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(t *testing.T, module string)
		want   int // builds in all
	}{
		"Nothing":      {"it is there", func(*testing.T, string) {}, 1},
		"MainChanged":  {"another program", appendTo("main.go", "\n// changed\n"), 2},
		"ModChanged":   {"other requirements", appendTo("go.mod", "\n// changed\n"), 2},
		"SumChanged":   {"other requirements", appendTo("go.sum", ""), 2},
		"FileAdded":    {"another program", appendTo("more/more.go", "package more\n"), 2},
		"TestAdded":    {"tests are not in the program", appendTo("main_test.go", "package main\n"), 1},
		"ReadmeAdded":  {"words are not in the program", appendTo("README.md", "# words\n"), 1},
		"NestedModule": {"another module is not in the program", appendTo("upstream/kubernetes/x.go", "package x\n"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			module := fakeModule(t)
			store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
			src := Source{Build: &Build{Module: module}}
			var seen builds
			if _, err := store.Ensure(t.Context(), v, src, seen.report); err != nil {
				t.Fatal(err)
			}
			tc.change(t, module)
			b, err := store.Ensure(t.Context(), v, src, seen.report)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, seen.n); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if err := b.Verify(t.Context()); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]string{".v1.99.9.lock", "v1.99.9"}, names(t, store.dir)); diff != "" {
				t.Errorf("left behind: -want, +got:\n%s", diff)
			}
		})
	}
}

func appendTo(name, content string) func(*testing.T, string) {
	return func(t *testing.T, module string) {
		t.Helper()
		file := filepath.Join(module, name)
		old, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		put(t, file, string(old)+content)
	}
}

func TestBuildMovedModule(t *testing.T) {
	module := fakeModule(t)
	store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
	var seen builds
	if _, err := store.Ensure(t.Context(), v, Source{Build: &Build{Module: module}}, seen.report); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.CopyFS(moved, os.DirFS(module)); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Ensure(t.Context(), v, Source{Build: &Build{Module: moved}}, seen.report); err != nil || seen.n != 1 {
		t.Errorf("moved module: %v, %d builds; want 1", err, seen.n)
	}
}

func TestBuildRefuses(t *testing.T) {
	wrong := func(out string) func(*testing.T, string) {
		return func(t *testing.T, module string) {
			t.Helper()
			put(t, filepath.Join(module, "main.go"), "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\""+out+"\") }\n")
		}
	}
	for name, tc := range map[string]struct {
		reason string
		change func(t *testing.T, module string)
		want   []string
	}{
		"CompileError": {"the compiler's words are shown", appendTo("main.go", "\nfunc broken() { return 1 }\n"),
			[]string{"release v1.99.9: build: exit status 1", "main.go:", "too many return values"}},
		"SyntaxError": {"the compiler's words are shown", appendTo("main.go", "\nfunc {\n"),
			[]string{"build: exit status 1", "syntax error"}},
		"MissingModule": {"the Go command's words are shown", appendTo("main.go", "\nimport _ \"example.test/none\"\n"),
			[]string{"build: exit status 1"}},
		"WrongVersion": {"a build that does not know itself is refused", wrong(`Kubernetes v0.0.0-master\n`),
			[]string{`says it is "Kubernetes v0.0.0-master" instead of "Kubernetes v1.99.9"`}},
		"LongerVersion": {"the whole answer counts", wrong(`Kubernetes v1.99.90\n`), []string{"instead of"}},
		"NoAnswer":      {"the whole answer counts", wrong(``), []string{"instead of"}},
		"Crash": {"the program's words are shown", func(t *testing.T, module string) {
			put(t, filepath.Join(module, "main.go"), "package main\n\nimport \"os\"\n\nfunc main() { println(`no such flag`); os.Exit(3) }\n")
		}, []string{"exit status 3", "no such flag"}},
		"OtherVersion": {"the version is in the module, not in the wish", func(t *testing.T, module string) {
			if err := replaceIn("go.mod", "v1.99.9", "v1.99.8")(module); err != nil {
				t.Fatal(err)
			}
		}, []string{"builds v1.99.8", "change its go.mod to k8s.io/kubernetes v1.99.9"}},
		"NoGoMod": {"it is said what is missing", func(t *testing.T, module string) {
			if err := os.Remove(filepath.Join(module, "go.mod")); err != nil {
				t.Fatal(err)
			}
		}, []string{"has no go.mod", "such as kubernetes/v1.36"}},
	} {
		t.Run(name, func(t *testing.T) {
			module := fakeModule(t)
			tc.change(t, module)
			store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
			_, err := store.Ensure(t.Context(), v, Source{Build: &Build{Module: module}}, nil)
			for _, part := range tc.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %v does not say %q", tc.reason, err, part)
				}
			}
			wantNothing(t, store, v)
		})
	}
}

// TestFailedRebuildKeepsOld: an error in the new source takes nothing away.
func TestFailedRebuildKeepsOld(t *testing.T) {
	module := fakeModule(t)
	store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
	src := Source{Build: &Build{Module: module}}
	if _, err := store.Ensure(t.Context(), v, src, nil); err != nil {
		t.Fatal(err)
	}
	appendTo("main.go", "\nfunc {\n")(t, module)
	if _, err := store.Ensure(t.Context(), v, src, nil); err == nil {
		t.Fatal("a syntax error was built")
	}
	b, ok, err := store.Lookup(v)
	if err != nil || !ok {
		t.Fatalf("the old build is gone: %v, %v", ok, err)
	}
	if err := b.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestBuildOnce(t *testing.T) {
	module := fakeModule(t)
	dir, v := t.TempDir(), mustVersion(t, testVersion)
	seen := make([]builds, 3)
	var group errgroup.Group
	for i := range seen {
		group.Go(func() error {
			_, err := NewStore(dir).Ensure(t.Context(), v, Source{Build: &Build{Module: module}}, seen[i].report)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if total := seen[0].n + seen[1].n + seen[2].n; total != 1 {
		t.Errorf("%d builds, want 1", total)
	}
}

func TestBuildCancelled(t *testing.T) {
	module := fakeModule(t)
	store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := store.Ensure(ctx, v, Source{Build: &Build{Module: module}}, func(s Step) {
		if s.Name == "build" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
	wantNothing(t, store, v)
}

func TestBuildWithoutGo(t *testing.T) {
	module := fakeModule(t)
	store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
	t.Setenv("PATH", t.TempDir())
	_, err := store.Ensure(t.Context(), v, Source{Build: &Build{Module: module}}, nil)
	if !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v, want that go is missing", err)
	}
}

func TestBuildLog(t *testing.T) {
	log := &buildLog{}
	for _, chunk := range []string{"internal/a\nk8s.io/ap", "i/core/v1\ngo: downloading x v1\n", "# pkg\n./a.go:1:2: bad"} {
		if n, err := log.Write([]byte(chunk)); n != len(chunk) || err != nil {
			t.Fatal(n, err)
		}
	}
	if diff := cmp.Diff(int64(2), log.packages()); diff != "" {
		t.Errorf("packages: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff("go: downloading x v1\n# pkg\n./a.go:1:2: bad", log.tail()); diff != "" {
		t.Errorf("tail: -want, +got:\n%s", diff)
	}
	for range 100 {
		log.Write([]byte(strings.Repeat("x ", maxPartLine)))
	}
	if got := len(log.tail()); got > (keepLines+1)*(maxLogLine+10)+maxPartLine {
		t.Errorf("an endless line keeps %d bytes", got)
	}
}
