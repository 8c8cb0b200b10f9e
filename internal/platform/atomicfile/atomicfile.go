// Package atomicfile replaces files so that a reader, a crash or a loss of power finds the old file or the new one,
// never a part of one; once a call has returned, the new one stays. A process that does what such a file says follows it with a [Follower].
//
// It hides the order that this takes: write beside the file, sync it, rename it, sync the folder. Any package that
// writes a file that must last may import it. github.com/google/renameio does less (it does not sync the folder, and
// there is nothing of it for Windows, where clients of KQueen run).
//
// The module node/flannel is built by itself, without the rest of KQueen, and has a small one of its own. It does not
// sync the folder: at each start the program makes again what is not there.
package atomicfile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// Disk is where files are kept: [Host], [Rooted], or in a test one that loses its power.
type Disk interface {
	// Create makes a file that is not there yet, for the caller alone (0600).
	Create(name string) (File, error)
	Mkdir(name string, mode fs.FileMode) error
	Rename(from, to string) error
	Remove(name string) error
	// Sync returns once the names in a folder outlive a loss of power.
	Sync(folder string) error
}

// File is a file that is being written.
type File interface {
	io.WriteCloser
	Chmod(mode fs.FileMode) error
	// Sync returns once the content outlives a loss of power.
	Sync() error
}

// Write replaces the file at path with data. Its mode is exactly the given one, whatever the umask. The folder must be
// there. A symlink at path is replaced, not followed.
func Write(path string, data []byte, mode fs.FileMode) error {
	return WriteOn(Host{}, path, data, mode)
}

// WriteOn is [Write] on another disk than the host's.
func WriteOn(disk Disk, path string, data []byte, mode fs.FileMode) error {
	return replace(disk, path, mode, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	})
}

// WriteFrom is [Write] of what fill writes. An error of fill changes nothing, and is returned as it is.
func WriteFrom(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return replace(Host{}, path, mode, fill)
}

// Folder makes a folder with that mode, and those above it, unless they are there. It stays there after a loss of
// power.
func Folder(disk Disk, path string, mode fs.FileMode) error {
	path = filepath.Clean(path)
	above := filepath.Dir(path)
	if above == path {
		return nil
	}
	err := disk.Mkdir(path, mode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := Folder(disk, above, mode); err != nil {
			return err
		}
		err = disk.Mkdir(path, mode)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return disk.Sync(above) // also when the folder is there: a crash may have come before the sync
}

func replace(disk Disk, path string, mode fs.FileMode, fill func(io.Writer) error) error {
	folder, base := filepath.Split(path)
	// The name begins with a dot, and no program looks for its ending. Two that write the same file do not meet.
	beside := filepath.Join(folder, "."+base+"."+rand.Text()[:8]+".tmp")
	file, err := disk.Create(beside)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := finish(disk, file, beside, path, mode, fill); err != nil {
		return errors.Join(err, disk.Remove(beside))
	}
	if err := disk.Sync(filepath.Clean(folder)); err != nil {
		return fmt.Errorf("sync the folder of %s: %w", path, err)
	}
	return nil
}

// finish fills the file and puts it in place. It closes the file whatever happens.
func finish(disk Disk, file File, beside, path string, mode fs.FileMode, fill func(io.Writer) error) error {
	if err := fill(file); err != nil {
		return errors.Join(err, file.Close())
	}
	err := file.Chmod(mode)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = disk.Rename(beside, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
