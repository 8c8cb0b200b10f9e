package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// specByPath is the identity that a process has of a KQueen which knew programs by their paths alone.
func specByPath(c Component, files map[string]File, path string) string {
	c.Path, c.Build = path, ""
	return specOf(c, files)
}

// calledBy is the path by which a process was called, which it can change itself; empty when it cannot be read.
func calledBy(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	path, _, _ := strings.Cut(string(data), "\x00")
	return path
}

// buildOf is the identity of an adopted process. One that an earlier KQueen has marked by its path is taken for the build
// of the first order that comes, so that an upgrade restarts nothing. That is kept, or it would be taken for every later build.
func buildOf(k *keeper, o order) string {
	if o.byPath == nil || k.proc.spec != o.byPath(k.proc.path) {
		return k.proc.spec
	}
	file, mark := filepath.Join(k.wl.dir, "build-"+k.name), k.proc.spec
	data, err := os.ReadFile(file)
	if of, spec, _ := strings.Cut(string(data), " "); err == nil && of == mark {
		return spec
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = atomicfile.Write(file, []byte(mark+" "+o.spec), 0o600)
	}
	if err != nil {
		k.s.conf.Log.Error("keep what a process is taken for", "workload", k.wl.id, "component", k.name, "error", err)
	}
	return o.spec
}
