package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// stagingVersion is the version of the staging modules: v0.36.3 goes with v1.36.3.
func stagingVersion(v release.Version) string {
	return "v0" + strings.TrimPrefix(v.String(), fmt.Sprintf("v%d", v.Major()))
}

// ownMod is the part of go.mod that this command decides; "go mod tidy" adds the rest.
// Go ignores the replacements and the godebug setting of required modules, so those of
// upstream are repeated here.
func (k kind) ownMod(v release.Version, up upstream) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "module %s%s\n\ngo %s\n\n", k.prefix, v.MinorString(), up.Go)
	if up.Godebug != "" {
		fmt.Fprintf(&b, "godebug default=%s\n\n", up.Godebug)
	}
	for _, tool := range k.tools {
		fmt.Fprintf(&b, "tool %s\n\n", tool)
	}
	fmt.Fprintf(&b, "require %s %s\n\nreplace (\n", release.KubernetesModule, v)
	for _, path := range up.Staging {
		fmt.Fprintf(&b, "\t%s => %s %s\n", path, path, stagingVersion(v))
	}
	b.WriteString(")\n")
	return b.Bytes()
}

// generate makes the module in a temporary folder and moves its files into place when
// all went well; running it again after a crash gives the same files.
func (k kind) generate(ctx context.Context, out string, v release.Version, up upstream, stdout io.Writer) error {
	temp, err := os.MkdirTemp("", "kubernetes-module-")
	if err != nil {
		return fmt.Errorf("create temporary folder: %w", err)
	}
	defer os.RemoveAll(temp) // and what stays, the system cleans
	fmt.Fprintf(stdout, "go mod tidy (%d staging modules; downloads may take minutes)\n", len(up.Staging))
	sources, err := k.sources(up)
	if err != nil {
		return fmt.Errorf("make the Go files of %s: %w", v, err)
	}
	if err := k.tidy(ctx, temp, v, up, sources); err != nil {
		return fmt.Errorf("make the module of %s: %w", v, err)
	}
	dir := filepath.Join(out, v.MinorString())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create module folder: %w", err)
	}
	for _, name := range slices.Concat([]string{"go.sum", "go.mod"}, slices.Sorted(maps.Keys(sources))) {
		if err := install(filepath.Join(temp, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "wrote %s\n", dir)
	return nil
}

// tidy writes the module into an empty folder and lets the Go command complete it.
//
// While it does, Kubernetes is pinned by a replacement as well: where the Go file imports a
// package that the version does not have, "go mod tidy" would otherwise quietly require
// a newer Kubernetes that has it.
func (k kind) tidy(ctx context.Context, dir string, v release.Version, up upstream, sources map[string][]byte) error {
	pin := fmt.Sprintf("replace %s => %s %s\n", release.KubernetesModule, release.KubernetesModule, v)
	files := maps.Clone(sources)
	files["go.mod"] = append(k.ownMod(v, up), pin...)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("write temporary %s: %w", name, err)
		}
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"mod", "edit", "-dropreplace=" + release.KubernetesModule}} {
		if _, err := runGo(ctx, dir, args...); err != nil {
			return err
		}
	}
	info, err := release.ReadModule(ctx, dir)
	if err == nil && info.Version != v {
		err = fmt.Errorf("go mod tidy requires %s %s instead", release.KubernetesModule, info.Version)
	}
	return err
}

// install copies a file, as a whole or not at all.
func install(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("install %s: %w", to, err)
	}
	if err := atomicfile.Write(to, content, 0o644); err != nil {
		return fmt.Errorf("install %s: %w", to, err)
	}
	return nil
}

// checkAll checks every module below a folder and names all differences at once.
func (k kind) checkAll(ctx context.Context, out string, stdout io.Writer) error {
	entries, err := os.ReadDir(out)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	var drift []error
	var checked []string
	for _, entry := range entries {
		dir := filepath.Join(out, entry.Name())
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); !entry.IsDir() || err != nil {
			continue
		}
		differences, err := k.check(ctx, dir)
		if err != nil {
			return fmt.Errorf("check: %w", err)
		}
		for _, difference := range differences {
			drift = append(drift, fmt.Errorf("%s: %s", dir, difference))
		}
		checked = append(checked, entry.Name())
	}
	if len(checked) == 0 {
		return fmt.Errorf("check: no module below %s: run this in the root of the project, or give --out", out)
	}
	if len(drift) > 0 {
		return fmt.Errorf("what is written differs from what would be; run generate with the version to mend it:\n%w", errors.Join(drift...))
	}
	fmt.Fprintf(stdout, "as generated: %s\n", strings.Join(checked, ", "))
	return nil
}

// check compares the Go files and our own part of go.mod with what generate would
// write for the version that the module requires.
func (k kind) check(ctx context.Context, dir string) ([]string, error) {
	info, err := release.ReadModule(ctx, dir)
	if err != nil {
		return nil, err
	}
	have, err := release.ReadGoMod(ctx, filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	up, err := readUpstream(ctx, info.Version)
	if err != nil {
		return nil, err
	}
	sources, err := k.sources(up)
	if err != nil {
		return nil, err
	}
	var differences []string
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(have, sources[name]) {
			differences = append(differences, name+" is not "+k.origin)
		}
	}
	if minor := info.Version.MinorString(); filepath.Base(dir) != minor {
		differences = append(differences, fmt.Sprintf("the folder should be %s, as it requires %s", minor, info.Version))
	}
	return append(differences, k.compareMod(have, info.Version, up)...), nil
}

func (k kind) compareMod(have release.GoMod, v release.Version, up upstream) []string {
	var differences []string
	if want := k.prefix + v.MinorString(); have.Module.Path != want {
		differences = append(differences, fmt.Sprintf("go.mod: module is %s, want %s", have.Module.Path, want))
	}
	var settings []string
	for _, setting := range have.Godebug {
		settings = append(settings, setting.Key+"="+setting.Value)
	}
	godebug := strings.Join(settings, ",")
	want := ""
	if up.Godebug != "" {
		want = "default=" + up.Godebug
	}
	if godebug != want {
		differences = append(differences, fmt.Sprintf("go.mod: godebug is %q, want %q as upstream", godebug, want))
	}
	missing := map[string]string{}
	for _, path := range up.Staging {
		missing[path] = path + " " + stagingVersion(v)
	}
	for _, replace := range have.Replace {
		want, known := missing[replace.Old.Path]
		got := strings.TrimSpace(replace.New.Path + " " + replace.New.Version)
		switch {
		case !known:
			differences = append(differences, fmt.Sprintf("go.mod: replaces %s, which upstream does not", replace.Old.Path))
		case replace.Old.Version != "" || got != want:
			differences = append(differences, fmt.Sprintf("go.mod: replaces %s %s by %s, want %s", replace.Old.Path, replace.Old.Version, got, want))
		}
		delete(missing, replace.Old.Path)
	}
	for _, path := range slices.Sorted(maps.Keys(missing)) {
		differences = append(differences, "go.mod: lacks the replacement of "+path+" by "+missing[path])
	}
	return differences
}
