package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
)

const forTheCallerAlone = 0o600

// Host is the file system of the machine.
type Host struct{}

// Create implements Disk.
func (Host) Create(name string) (File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, forTheCallerAlone)
}

// Mkdir implements Disk.
func (Host) Mkdir(name string, mode fs.FileMode) error { return os.Mkdir(name, mode) }

// Rename implements Disk.
func (Host) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements Disk.
func (Host) Remove(name string) error { return os.Remove(name) }

// Sync implements Disk.
func (Host) Sync(folder string) error { return syncFolder(os.Open(folder)) }

// Rooted is the file system below a folder. A symlink that leads out of the folder is not followed.
type Rooted struct{ Root *os.Root }

// Create implements Disk.
func (r Rooted) Create(name string) (File, error) {
	return r.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, forTheCallerAlone)
}

// Mkdir implements Disk.
func (r Rooted) Mkdir(name string, mode fs.FileMode) error { return r.Root.Mkdir(name, mode) }

// Rename implements Disk.
func (r Rooted) Rename(from, to string) error { return r.Root.Rename(from, to) }

// Remove implements Disk.
func (r Rooted) Remove(name string) error { return r.Root.Remove(name) }

// Sync implements Disk.
func (r Rooted) Sync(folder string) error { return syncFolder(r.Root.Open(folder)) }

// syncFolder syncs and closes a folder. Windows has no such call: there the file system's own journal must do.
func syncFolder(folder *os.File, err error) error {
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" {
		err = folder.Sync()
	}
	return errors.Join(err, folder.Close())
}
