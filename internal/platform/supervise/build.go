package supervise

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// specByPath is the identity that a process has of a KQueen which knew programs by their paths alone, and empty where that is
// still how the program is known. A program that lies elsewhere now is another one: its folder may be another version's.
func specByPath(c Component, files map[string]File) string {
	if c.Build == "" {
		return ""
	}
	c.Build, c.Moves = "", nil
	return specOf(c, files)
}

// moved are arguments with what lies at a path in the place of the path. It is pure.
func moved(args []string, moves map[string]string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		if build, ok := moves[arg]; ok {
			out[i] = "build " + build
		}
	}
	return out
}

// buildOf is the identity of an adopted process. One that an earlier KQueen has marked by its path is taken for the build
// of the first order that comes, so that an upgrade restarts nothing. That is kept, or it would be taken for every later build.
func buildOf(k *keeper, o order) string {
	if o.byPath == "" {
		return k.proc.spec
	}
	file, mark := filepath.Join(k.wl.dir, "build-"+k.name), k.proc.spec
	data, err := os.ReadFile(file)
	if of, spec, _ := strings.Cut(string(data), " "); err == nil && of == mark {
		return spec
	}
	if mark != o.byPath {
		return mark
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = atomicfile.Write(file, []byte(mark+" "+o.spec), 0o600)
	}
	if err != nil {
		k.s.conf.Log.Error("keep what a process is taken for", "workload", k.wl.id, "component", k.name, "error", err)
	}
	return o.spec
}
