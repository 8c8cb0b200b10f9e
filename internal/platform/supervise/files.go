package supervise

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"os"
	"path"
	"slices"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// writeFiles brings the files below dir to their wanted content and mode, and leaves alone those that have it. os.Root
// keeps a symlink that a program planted from leading out of the directory.
func writeFiles(ctx context.Context, dir string, files map[string]File) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	disk, made := atomicfile.Rooted{Root: root}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := files[name]
		if f.Mode == 0 {
			f.Mode = 0o600
		}
		if f.group != 0 {
			f.Mode |= 0o040 // the directory gives it the group
		}
		if isWritten(root, name, f) {
			continue
		}
		if folder := path.Dir(name); folder != "." && !made[folder] {
			if err := atomicfile.Folder(disk, folder, 0o700); err != nil {
				return err
			}
			made[folder] = true
		}
		if err := atomicfile.WriteOn(disk, name, f.Data, f.Mode); err != nil {
			return err
		}
	}
	return nil
}

func isWritten(root *os.Root, name string, f File) bool {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != f.Mode || info.Size() != int64(len(f.Data)) {
		return false
	}
	if f.group != 0 && groupOf(info) != f.group {
		return false
	}
	have, err := root.ReadFile(name)
	return err == nil && bytes.Equal(have, f.Data)
}

// specOf is the identity of a component's process: it runs the same thing if and only if this is the same. It is a mark
// of the process, so changing the recipe restarts every component on upgrade.
func specOf(c Component, files map[string]File) string {
	h := sha256.New()
	add := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	list := func(items []string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(items)))
		h.Write(n[:])
		for _, s := range items {
			add([]byte(s))
		}
	}
	program := c.Path
	if c.Build != "" {
		program = "build " + c.Build // no path begins so
	}
	list([]string{program})
	list(moved(c.Args, c.Moves))
	list(c.Env)
	// Added only where set: the identity of everything else must not change.
	if c.Within != "" {
		add([]byte("within " + c.Within))
	}
	for _, name := range slices.Sorted(slices.Values(c.RestartOn)) {
		add([]byte(name))
		add(files[name].Data)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
