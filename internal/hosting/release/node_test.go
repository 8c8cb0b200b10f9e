package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
)

// fakeNode is a module as the folder node, with local replacements for upstream: the same
// builds, of programs that only say who they are.
func fakeNode(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds programs, which -short leaves out")
	}
	t.Setenv("GOPROXY", "off") // nothing of this needs a network
	dir := t.TempDir()
	mod := "module example.test/node\n\ngo 1.24\n\n"
	for path, upstream := range map[string]struct{ version, folder string }{
		containerdModule: {"v2.99.9", "containerd"}, pluginsModule: {"v1.99.9", "plugins"}, runcModule: {"v1.88.8", "runc"},
	} {
		mod += fmt.Sprintf("require %s %s\nreplace %s => ./upstream/%s\n", path, upstream.version, path, upstream.folder)
		put(t, filepath.Join(dir, "upstream", upstream.folder, "go.mod"), "module "+path+"\n\ngo 1.24\n")
	}
	put(t, filepath.Join(dir, "go.mod"), mod)
	says := func(file, imports, what string) {
		put(t, filepath.Join(dir, file), "package main\n\nimport \"fmt\"\n"+imports+"\nfunc main() { fmt.Println("+what+") }\n")
	}
	put(t, filepath.Join(dir, "upstream/containerd/version/version.go"), "package version\n\nvar Version string\n")
	put(t, filepath.Join(dir, "upstream/plugins/pkg/utils/buildversion/v.go"), "package buildversion\n\nvar BuildVersion string\n")
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr"} {
		says("upstream/containerd/cmd/"+name+"/main.go", `import "`+containerdModule+`/version"`, `"`+name+`", version.Version`)
	}
	for _, name := range []string{"main/bridge", "main/loopback", "ipam/host-local", "meta/portmap"} {
		says("upstream/plugins/plugins/"+name+"/main.go", `import "`+pluginsModule+`/pkg/utils/buildversion"`, `"plugin", buildversion.BuildVersion`)
	}
	says("upstream/runc/main.go", "", `"runc version 1.88.8"`)
	says("pause/main.go", "", `"pause"`)
	says("toolbox/main.go", "", `"toolbox"`)
	put(t, filepath.Join(dir, "coredns/go.mod"), "module example.test/node/coredns\n\ngo 1.24\n")
	says("coredns/main.go", "", `"coredns"`)
	put(t, filepath.Join(dir, "flannel/go.mod"), "module example.test/node/flannel\n\ngo 1.24\n")
	says("flannel/main.go", "", `"flannel"`)
	for _, name := range []string{"metrics-server", "agent", "traefik"} {
		put(t, filepath.Join(dir, name, "go.mod"), "module example.test/node/"+name+"\n\ngo 1.24\n")
		says(name+"/main.go", "", `"`+name+`"`)
	}
	put(t, filepath.Join(dir, "images/main.go"), fakeImages)
	return dir
}

// fakeImages writes as many archives as the real one, and none where a program is missing.
const fakeImages = `package main

import (
	"fmt"
	"os"
)

func main() {
	for args := os.Args[3:]; len(args) > 1; args = args[2:] {
		name, file := args[0][1:], args[1]
		if name == "plugins" {
			file += "/bridge"
		}
		program, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(os.Args[2]+"/"+name+".tar", program[:100], 0o600)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if name == "plugins" || name == "toolbox" || name == "shell" {
			continue
		}
		fmt.Printf("%s.tar\tkqueen.internal/%s:1\n", name, name)
	}
}
`

func TestNodeParts(t *testing.T) {
	module := fakeNode(t)
	store := NewStore(t.TempDir())
	notes := filepath.Join(store.dir, "node-notes.log")
	put(t, notes, "a file is no build")
	if _, ok, err := store.LookupNodeParts(); ok || err != nil {
		t.Errorf("lookup in an empty store: %v, %v", ok, err)
	}
	if err := os.Remove(notes); err != nil {
		t.Fatal(err)
	}
	var seen builds
	parts, err := store.EnsureNode(t.Context(), Version{}, NodeSource{Parts: module}, seen.report)
	if err != nil {
		t.Fatal(err)
	}
	if base := filepath.Base(parts.Dir); base != "node-v2.99.9-"+parts.Origin.Fingerprint[:12] || parts.Containerd != "v2.99.9" {
		t.Errorf("folder %s of containerd %s", base, parts.Containerd)
	}
	for program, want := range map[string]string{
		parts.Program("containerd"): "containerd v2.99.9\n", parts.Program("containerd-shim-runc-v2"): "containerd-shim-runc-v2 v2.99.9\n",
		parts.Program("ctr"): "ctr v2.99.9\n", parts.Program("runc"): "runc version 1.88.8\n",
		filepath.Join(parts.CNI(), "portmap"): "plugin v1.99.9\n",
	} {
		if out, err := exec.CommandContext(t.Context(), program).Output(); err != nil || string(out) != want {
			t.Errorf("%s says %q (%v), want %q", program, out, err, want)
		}
	}
	want := []Image{
		{"kqueen.internal/pause:1", filepath.Join(parts.Dir, "images/pause.tar")},
		{"kqueen.internal/busybox:1", filepath.Join(parts.Dir, "images/busybox.tar")},
		{"kqueen.internal/coredns:1", filepath.Join(parts.Dir, "images/coredns.tar")},
		{"kqueen.internal/flannel:1", filepath.Join(parts.Dir, "images/flannel.tar")},
	}
	if diff := cmp.Diff(want, parts.Images()); diff != "" {
		t.Errorf("images: -want, +got:\n%s", diff)
	}
	if out, err := exec.CommandContext(t.Context(), parts.Idle()).Output(); err != nil || string(out) != "pause\n" {
		t.Errorf("the idle program says %q (%v)", out, err)
	}
	if err := parts.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	for what, find := range map[string]func() (NodeParts, bool, error){
		"lookup": store.LookupNodeParts,
		"at":     func() (NodeParts, bool, error) { return store.NodePartsAt(parts.Dir) },
	} {
		found, ok, err := find()
		if diff := cmp.Diff(parts, found, cmp.AllowUnexported(NodeParts{})); diff != "" || !ok || err != nil {
			t.Errorf("%s: %v, %v; -want, +got:\n%s", what, ok, err, diff)
		}
	}
	if list, err := store.List(); err != nil || len(list) != 0 {
		t.Errorf("list of versions has node parts: %v, %v", list, err)
	}
	if diff := cmp.Diff([]string{".node.lock", filepath.Base(parts.Dir)}, names(t, store.dir)); diff != "" {
		t.Errorf("left behind: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"bin", "cni", "images", "release.json"}, names(t, parts.Dir)); diff != "" {
		t.Errorf("parts: -want, +got:\n%s", diff)
	}
}

// TestNodePartsStay: a new source gives a new folder, the old one stays as it is, and going back finds it.
func TestNodePartsStay(t *testing.T) {
	module := fakeNode(t)
	store := NewStore(t.TempDir())
	var seen builds
	ensure := func(wantBuilds int) NodeParts {
		t.Helper()
		parts, err := store.EnsureNode(t.Context(), Version{}, NodeSource{Parts: module}, seen.report)
		if err != nil {
			t.Fatal(err)
		}
		if seen.n != wantBuilds {
			t.Errorf("compiled %d times, want %d", seen.n, wantBuilds)
		}
		if found, ok, err := store.LookupNodeParts(); !ok || err != nil || found.Dir != parts.Dir {
			t.Errorf("lookup gives %s (%v, %v), want what was provided last, %s", found.Dir, ok, err, parts.Dir)
		}
		return parts
	}
	steps := len((&nodeBuilder{}).builds())
	first := ensure(steps)
	ensure(steps)
	appendTo("README.md", "words")(t, module)
	appendTo("images/main_test.go", "package main\n")(t, module)
	ensure(steps)
	nested := filepath.Join(module, "coredns/main.go")
	old, err := os.ReadFile(nested)
	if err != nil {
		t.Fatal(err)
	}
	appendTo("coredns/main.go", "\n// changed\n")(t, module)
	if second := ensure(2 * steps); second.Dir == first.Dir {
		t.Error("a change in a nested module changed no fingerprint")
	}
	if err := first.Verify(t.Context()); err != nil {
		t.Errorf("the older parts: %v", err)
	}
	put(t, nested, string(old))
	if again := ensure(2 * steps); again.Dir != first.Dir {
		t.Errorf("the old source gives %s, want %s", again.Dir, first.Dir)
	}
}

func TestNodePartsOnce(t *testing.T) {
	module, dir := fakeNode(t), t.TempDir()
	seen := make([]builds, 3)
	var group errgroup.Group
	for i := range seen {
		group.Go(func() error {
			_, err := NewStore(dir).EnsureNode(t.Context(), Version{}, NodeSource{Parts: module}, seen[i].report)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if total, want := seen[0].n+seen[1].n+seen[2].n, len((&nodeBuilder{}).builds()); total != want {
		t.Errorf("compiled %d times, want %d", total, want)
	}
}

func TestNodePartsDamage(t *testing.T) {
	module := fakeNode(t)
	whole, err := NewStore(t.TempDir()).EnsureNode(t.Context(), Version{}, NodeSource{Parts: module}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		damage func(dir string) error
		want   string
	}{
		"ProgramGone":  {func(dir string) error { return os.Remove(filepath.Join(dir, "bin/runc")) }, "bin/runc"},
		"PluginShort":  {func(dir string) error { return os.Truncate(filepath.Join(dir, "cni/bridge"), 7) }, "has 7 bytes"},
		"ArchiveGone":  {func(dir string) error { return os.Remove(filepath.Join(dir, "images/coredns.tar")) }, "images/coredns.tar"},
		"ArchiveShort": {func(dir string) error { return os.Truncate(filepath.Join(dir, "images/pause.tar"), 7) }, "has 7 bytes"},
		"NoJSON":       {writeFile(manifestName, "half a man"), "read release.json"},
		"OtherMachine": {replaceIn(manifestName, `"arch": "`, `"arch": "un`), "was made for"},
		"ManifestGone": {func(dir string) error { return os.Remove(filepath.Join(dir, manifestName)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			store := NewStore(t.TempDir())
			dir := filepath.Join(store.dir, filepath.Base(whole.Dir))
			if err := errors.Join(os.CopyFS(dir, os.DirFS(whole.Dir)), tc.damage(dir)); err != nil {
				t.Fatal(err)
			}
			_, ok, err := store.LookupNodeParts()
			if ok || tc.want != "" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), tc.want)) || tc.want == "" && err != nil {
				t.Errorf("lookup: %v, %v; want ErrDamaged with %q", ok, err, tc.want)
			}
		})
	}
	if err := errors.Join(os.Remove(whole.Program("runc")), os.Mkdir(filepath.Join(filepath.Dir(whole.Dir), ".node_123"), 0o700)); err != nil {
		t.Fatal(err)
	}
	mended, err := NewStore(filepath.Dir(whole.Dir)).EnsureNode(t.Context(), Version{}, NodeSource{Parts: module}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := mended.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{".node.lock", filepath.Base(whole.Dir)}, names(t, filepath.Dir(whole.Dir))); diff != "" {
		t.Errorf("left behind: -want, +got:\n%s", diff)
	}
}

func TestNodePartsRefuses(t *testing.T) {
	replace := func(file, from, to string) func(*testing.T, string) {
		return func(t *testing.T, module string) {
			t.Helper()
			if err := replaceIn(file, from, to)(module); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(t *testing.T, module string)
		want   []string
	}{
		"NoGoMod": {func(t *testing.T, module string) {
			if err := os.Remove(filepath.Join(module, "go.mod")); err != nil {
				t.Fatal(err)
			}
		}, []string{"has no go.mod", "name the folder node"}},
		"NoRunc":     {replace("go.mod", "require "+runcModule+" v1.88.8", ""), []string{"does not require " + runcModule}},
		"OddVersion": {replace("go.mod", "v2.99.9", "v2.99.9+incompatible"), []string{"go.mod"}},
		"CompileError": {appendTo("upstream/containerd/cmd/containerd/main.go", "\nfunc broken() { return 1 }\n"),
			[]string{"programs of nodes: build containerd: exit status 1", "too many return values"}},
	} {
		t.Run(name, func(t *testing.T) {
			module, store := fakeNode(t), NewStore(t.TempDir())
			tc.change(t, module)
			_, err := store.EnsureNode(t.Context(), Version{}, NodeSource{Parts: module}, nil)
			for _, part := range tc.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %q", err, part)
				}
			}
		})
	}
	if _, _, err := NewStore(t.TempDir()).NodePartsAt(""); err == nil {
		t.Error("no folder was taken for the folder that the program runs in")
	}
}

// TestFreshPartsAreChecked lets scripts stand for programs that were just built.
func TestFreshPartsAreChecked(t *testing.T) {
	script := func(t *testing.T, file, text string) {
		t.Helper()
		put(t, file, "#!/bin/sh\n"+text+"\n")
		if err := os.Chmod(file, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b := &nodeBuilder{versions: map[string]string{containerdModule: "v2.99.9", pluginsModule: "v1.99.9", runcModule: "v1.88.8"}}
	for name, tc := range map[string]struct{ containerd, runc, bridge, want string }{
		"Right":     {"echo containerd v2.99.9", "echo runc version 1.88.8", "echo CNI bridge plugin v1.99.9 >&2", ""},
		"NoVersion": {"echo containerd", "", "", "instead of v2.99.9"},
		"Longer":    {"echo containerd v2.99.9", "echo runc version 1.88.80", "", "instead of v1.88.8"},
		"Plugin":    {"echo containerd v2.99.9", "echo runc version 1.88.8", "echo CNI bridge plugin unknown", "instead of v1.99.9"},
		"Crash":     {"echo no such flag; exit 3", "", "", "no such flag"},
	} {
		t.Run("Versions"+name, func(t *testing.T) {
			dir := t.TempDir()
			script(t, filepath.Join(dir, "bin/containerd"), tc.containerd)
			script(t, filepath.Join(dir, "bin/runc"), tc.runc)
			script(t, filepath.Join(dir, "cni/bridge"), tc.bridge)
			wantError(t, b.checkVersions(t.Context(), dir), tc.want)
		})
	}
	for name, tc := range map[string]struct{ images, want string }{
		"Right":    {`printf 'pause.tar\tp:1\nx.tar\tx:1\n'`, ""},
		"Crash":    {"echo no space >&2; exit 1", "no space"},
		"OtherDir": {`printf '../pause.tar\tp:1\n'`, "does not name a file and an image"},
		"NoName":   {`printf 'pause.tar\n'`, "does not name a file and an image"},
	} {
		t.Run("Images"+name, func(t *testing.T) {
			dir := t.TempDir()
			script(t, filepath.Join(dir, scratchFolder, "images"), tc.images)
			_, err := packImages(t.Context(), dir, nil)
			wantError(t, err, tc.want)
		})
	}
}

// wantError wants no error when part is empty.
func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if part == "" && err != nil || part != "" && (err == nil || !strings.Contains(err.Error(), part)) {
		t.Errorf("got %v, want %q", err, part)
	}
}

func TestNodePartsCancelled(t *testing.T) {
	store := NewStore(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	_, err := store.EnsureNode(ctx, Version{}, NodeSource{Parts: fakeNode(t)}, func(s Step) {
		if s.Name == "build runc" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
	if diff := cmp.Diff([]string{".node.lock"}, names(t, store.dir)); diff != "" {
		t.Errorf("left behind: -want, +got:\n%s", diff)
	}
}

// TestDebianParts: what is missing is named by its package, before anything is built.
func TestDebianParts(t *testing.T) {
	module := fakeNode(t)
	find := func(program string) string {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	real := map[string]string{"go": find("go"), "gcc": find("gcc"), "pkg-config": find("pkg-config"), "busybox": find("busybox"), "bash": find("bash")}
	for name, tc := range map[string]struct {
		change map[string]string // program to what it is, nothing when it is missing
		want   string
	}{
		"NoCompiler":     {map[string]string{"gcc": ""}, "apt-get install gcc libc6-dev libseccomp-dev"},
		"NoPkgConfig":    {map[string]string{"pkg-config": ""}, "apt-get install pkg-config"},
		"NoBusybox":      {map[string]string{"busybox": ""}, "apt-get install busybox-static"},
		"DynamicBusybox": {map[string]string{"busybox": find("bash")}, "apt-get install busybox-static"},
		"NoShell":        {map[string]string{"bash": ""}, "apt-get install bash"},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			for program, target := range real {
				if other, ok := tc.change[program]; ok {
					target = other
				}
				if target == "" {
					continue
				}
				if err := os.Symlink(target, filepath.Join(path, program)); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", path)
			_, err := NewStore(t.TempDir()).EnsureNode(t.Context(), Version{}, NodeSource{Parts: module}, func(s Step) { t.Errorf("began to %s", s.Name) })
			if err == nil || !strings.HasSuffix(err.Error(), tc.want) {
				t.Errorf("%v does not end with %q", err, tc.want)
			}
		})
	}
}
