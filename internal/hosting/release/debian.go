package release

import (
	"context"
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// debian is what Debian packages bring: files of this machine.
type debian struct {
	libraries []string // that runc is linked with
	busybox   string   // static, becomes an image
	shell     []string // bash and what it needs, for that image
}

// files are all of them.
func (d debian) files() []string { return slices.Concat(d.libraries, []string{d.busybox}, d.shell) }

// findDebian finds them. The error names the packages that are missing.
func findDebian(ctx context.Context) (debian, error) {
	var missing []string
	need := func(program, pkg string) string {
		path, err := exec.LookPath(program)
		if err != nil {
			missing = append(missing, pkg)
		}
		return path
	}
	gcc := need("gcc", "gcc")
	need("pkg-config", "pkg-config")
	need("bash", "bash")
	found := debian{busybox: need("busybox", "busybox-static")}
	if found.busybox != "" && !isStatic(found.busybox) {
		missing = append(missing, "busybox-static")
	}
	for _, library := range []struct{ file, pkg string }{{"libc.a", "libc6-dev"}, {"libseccomp.a", "libseccomp-dev"}} {
		path := ""
		if gcc != "" {
			var err error
			if path, err = ask(ctx, gcc, "-print-file-name="+library.file); err != nil {
				return debian{}, err
			}
		}
		if path = strings.TrimSpace(path); !filepath.IsAbs(path) { // what it does not find, it gives back
			missing = append(missing, library.pkg)
		}
		found.libraries = append(found.libraries, path)
	}
	if len(missing) > 0 {
		return debian{}, fmt.Errorf("missing Debian packages; install them with: apt-get install %s", strings.Join(missing, " "))
	}
	var err error
	found.shell, err = withLibraries(ctx, []string{"bash"})
	return found, err
}

// isStatic reports whether a program needs no loader and no libraries.
func isStatic(program string) bool {
	file, err := elf.Open(program)
	if err != nil {
		return false
	}
	defer file.Close()
	return !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// withLibraries are programs of this machine, and the libraries and the loader without which they do not start, as
// the loader itself tells.
func withLibraries(ctx context.Context, programs []string) ([]string, error) {
	var all []string
	for _, name := range programs {
		program, err := exec.LookPath(name)
		if err != nil {
			return nil, fmt.Errorf("a program for images: %w", err)
		}
		loader, err := loaderOf(program)
		if err != nil {
			return nil, err
		}
		said, err := ask(ctx, loader, "--list", program)
		if err != nil {
			return nil, err
		}
		all = append(all, program, loader)
		for line := range strings.Lines(said) { // libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f716c520000)
			if _, found, ok := strings.Cut(line, " => "); ok {
				library, _, _ := strings.Cut(strings.TrimSpace(found), " ")
				all = append(all, library)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// loaderOf is the interpreter that a program names.
func loaderOf(program string) (string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", program, err)
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, part.Filesz)
		if _, err := part.ReadAt(name, 0); err != nil {
			return "", fmt.Errorf("read the loader of %s: %w", program, err)
		}
		return strings.TrimRight(string(name), "\x00"), nil
	}
	return "", fmt.Errorf("%s names no loader", program)
}
