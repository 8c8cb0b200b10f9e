package guest

import (
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// searchPath is where tools are looked for.
func searchPath() []string {
	return []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
}

// self is the program of process 1, which is this one.
const self = "/proc/self/exe"

// toolEntries are the tools that the host has, and what they need to run. What this program needs is among it: one that
// was built with cgo is not static, and process 1 would not start.
func toolEntries(tools []string) []Entry {
	c := closure{files: map[string]bool{}}
	var out []Entry
	for _, tool := range tools {
		for _, dir := range searchPath() {
			path := filepath.Join(dir, tool)
			if _, err := os.Stat(path); err != nil {
				continue
			}
			if err := c.add(path); err == nil {
				break
			}
		}
	}
	if err := c.add(self); err == nil {
		delete(c.files, self)
	}
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		out = append(out, Entry{Kind: KindReadOnly, Source: path, Target: path})
	}
	// Extensions of iptables, which it looks for by name.
	if plugins, err := filepath.Glob("/usr/lib/*/xtables"); err == nil {
		for _, dir := range append(plugins, "/usr/lib/xtables", "/usr/lib64/xtables") {
			out = append(out, Entry{Kind: KindReadOnly, Source: dir, Target: dir, Optional: true})
		}
	}
	// The index of libraries, for those in folders that no program knows by itself.
	return append(out, Entry{Kind: KindCopy, Source: ldCache, Target: ldCache, Optional: true})
}

const ldCache = "/etc/ld.so.cache"

// closure is a set of programs with the libraries that they need, by the paths at which the loader finds them.
type closure struct {
	files map[string]bool
	dirs  []string // of libraries; found out once
}

// add adds a program or library, its interpreter and its libraries. What is no ELF file, such as a script, is refused: its
// interpreter would come to nothing.
func (c *closure) add(path string) error {
	if c.files[path] {
		return nil
	}
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	defer file.Close()
	c.files[path] = true
	if interpreter := interpreterOf(file); interpreter != "" {
		if _, err := os.Stat(interpreter); err == nil {
			c.files[interpreter] = true
		}
	}
	names, err := file.ImportedLibraries() // none of a static program
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	dirs := append(runPath(file, path), c.libraryDirs()...)
	for _, name := range names {
		library, err := find(name, dirs, file.FileHeader)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := c.add(library); err != nil {
			return err
		}
	}
	return nil
}

// interpreterOf is the loader that a program names; empty for none.
func interpreterOf(file *elf.File) string {
	for _, p := range file.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		data := make([]byte, min(p.Filesz, 4096))
		if _, err := p.ReadAt(data, 0); err != nil {
			return ""
		}
		return strings.TrimRight(string(data), "\x00")
	}
	return ""
}

// runPath are the folders that a file names for its own libraries.
func runPath(file *elf.File, path string) []string {
	var dirs []string
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		values, err := file.DynString(tag)
		if err != nil {
			continue
		}
		for _, value := range values {
			for dir := range strings.SplitSeq(value, ":") {
				dir = strings.NewReplacer("$ORIGIN", filepath.Dir(path), "${ORIGIN}", filepath.Dir(path)).Replace(dir)
				dirs = append(dirs, filepath.Clean(dir))
			}
		}
	}
	return dirs
}

// libraryDirs are the folders in which the loader looks: those that the host names and those that it knows.
func (c *closure) libraryDirs() []string {
	if c.dirs != nil {
		return c.dirs
	}
	var dirs []string
	for _, pattern := range []string{"/lib/*-linux-*", "/usr/lib/*-linux-*"} {
		found, err := filepath.Glob(pattern)
		if err == nil {
			dirs = append(dirs, found...)
		}
	}
	dirs = append(dirs, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
	c.dirs = slices.Concat(dirs, namedDirs("/etc/ld.so.conf", 0))
	return c.dirs
}

// namedDirs reads a file as ld.so.conf is (ldconfig(8)): a folder in each line, or "include" with a pattern of files.
func namedDirs(file string, depth int) []string {
	const deepest = 4
	data, err := os.ReadFile(file)
	if err != nil || depth > deepest {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) > 1 && fields[0] == "include":
			for _, pattern := range fields[1:] {
				if !filepath.IsAbs(pattern) {
					pattern = filepath.Join(filepath.Dir(file), pattern)
				}
				files, err := filepath.Glob(pattern)
				if err != nil {
					continue
				}
				for _, f := range files {
					dirs = append(dirs, namedDirs(f, depth+1)...)
				}
			}
		case len(fields) == 1 && filepath.IsAbs(fields[0]):
			dirs = append(dirs, fields[0])
		}
	}
	return dirs
}

// find finds a library for programs of the same sort.
func find(name string, dirs []string, like elf.FileHeader) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		file, err := elf.Open(path)
		if err != nil {
			continue
		}
		fits := file.Class == like.Class && file.Machine == like.Machine
		if err := file.Close(); err == nil && fits {
			return path, nil
		}
	}
	return "", fmt.Errorf("needs the library %s, which is in none of %s", name, strings.Join(dirs, ", "))
}
