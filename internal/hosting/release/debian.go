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

// debianParts finds what Debian packages bring: the libraries that runc is linked with,
// and the busybox that becomes an image. The error names the packages that are missing.
func debianParts(ctx context.Context) (libraries []string, busybox string, err error) {
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
	busybox = need("busybox", "busybox-static")
	if busybox != "" && !isStatic(busybox) {
		missing = append(missing, "busybox-static")
	}
	for _, library := range []struct{ file, pkg string }{{"libc.a", "libc6-dev"}, {"libseccomp.a", "libseccomp-dev"}} {
		path := ""
		if gcc != "" {
			if path, err = ask(ctx, gcc, "-print-file-name="+library.file); err != nil {
				return nil, "", err
			}
		}
		if path = strings.TrimSpace(path); !filepath.IsAbs(path) { // what it does not find, it gives back
			missing = append(missing, library.pkg)
		}
		libraries = append(libraries, path)
	}
	if len(missing) > 0 {
		return nil, "", fmt.Errorf("missing Debian packages; install them with: apt-get install %s", strings.Join(missing, " "))
	}
	return libraries, busybox, nil
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
