package volumes

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

const (
	// maxDepth is how many folders are open at a time while one is erased.
	maxDepth = 64
	// batch is how many names of a folder are in memory.
	batch = 1000
)

// erase deletes a folder of the directory. Pods nest folders as deep as they like, and [os.Root.RemoveAll] has a file open for each
// level: what is deeper than maxDepth is moved up first, under a name by which it is erased after a crash, too.
func (f *folders) erase(name string) error {
	if info, err := f.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil || !info.IsDir() {
		return errors.Join(err, f.root.Remove(name))
	}
	for moved := []string{name}; len(moved) > 0; {
		last := moved[len(moved)-1]
		top, err := f.root.OpenRoot(last)
		if err != nil {
			return err
		}
		var deeper []string
		err = eraseBelow(top, 1, func(below string) error {
			to, err := f.moveUp(path.Join(last, below), len(moved)+len(deeper))
			deeper = append(deeper, to)
			return err
		}, "")
		if err = errors.Join(err, top.Close()); err == nil {
			err = f.root.Remove(last)
		}
		if err != nil {
			return err
		}
		moved = append(moved[:len(moved)-1], deeper...)
	}
	return nil
}

// moveUp renames a folder to a free name of the directory. n is the number to begin with.
func (f *folders) moveUp(from string, n int) (string, error) {
	for {
		to := fmt.Sprintf("%sdeep-%d", deleting, n)
		if err := f.root.Rename(from, to); !errors.Is(err, fs.ErrExist) {
			return to, err
		}
		n++
	}
}

// eraseBelow deletes what is in a folder, which is at a path below the one that is erased. It calls moveUp with the path of each
// folder that is too deep.
func eraseBelow(dir *os.Root, depth int, moveUp func(below string) error, at string) error {
	for {
		entries, err := list(dir)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, entry := range entries {
			switch name := entry.Name(); {
			case !entry.IsDir():
				err = dir.Remove(name)
			case depth == maxDepth:
				err = moveUp(path.Join(at, name))
			default:
				err = eraseFolder(dir, name, depth, moveUp, at)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
}

func eraseFolder(dir *os.Root, name string, depth int, moveUp func(below string) error, at string) error {
	below, err := dir.OpenRoot(name)
	if err != nil {
		return err
	}
	if err := errors.Join(eraseBelow(below, depth+1, moveUp, path.Join(at, name)), below.Close()); err != nil {
		return err
	}
	return dir.Remove(name)
}

// list returns some of what is in a folder.
func list(dir *os.Root) ([]fs.DirEntry, error) {
	file, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	entries, err := file.ReadDir(batch)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
