package release

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// readable is what of a mode everyone may do with a program: read it, and enter its folder. Only the owner writes.
const (
	folderMode = 0o755
	readable   = 0o444
	runnable   = 0o111
)

// share lets every user of the host read and run what is in a folder of the store: programs are no secret, and what matters is
// who may change them. The mask of the user who builds them does not decide about that.
func share(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // It was only read.
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | readable
		switch {
		case entry.IsDir():
			mode = folderMode
		case mode&0o100 != 0:
			mode |= runnable
		}
		if mode &^= 0o022; mode == info.Mode().Perm() {
			return nil
		}
		return root.Chmod(path, mode)
	})
}

// open makes the folder of the store, and lets others into one of root's: users of the host start what root has built, and
// have no other way to it. An ordinary user's own folder stays as it was made.
func (s *Store) open() error {
	if err := os.MkdirAll(s.dir, folderMode); err != nil {
		return fmt.Errorf("create store: %w", err)
	}
	if os.Geteuid() != 0 {
		return nil
	}
	folders := []string{s.dir}
	if s.dir == systemDir { // made by KQueen as well
		folders = append(folders, filepath.Dir(s.dir))
	}
	var problems []error
	for _, dir := range folders {
		info, err := os.Stat(dir)
		if err == nil && info.Mode().Perm()&0o055 != 0o055 {
			err = os.Chmod(dir, info.Mode().Perm()|0o055)
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
