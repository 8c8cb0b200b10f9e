package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Folders of one directory, by their names:
//
//	UID                   the volume of the claim
//	.new-UID              one that is being created
//	.deleting-UID         one that is being deleted, or .deleting-deep-NUMBER, a part of one
//	.released-UID-TIME    one that the cluster no longer knows, since that time
//
// Others are of the operator, and are left alone.
const (
	creating  = ".new-"
	deleting  = ".deleting-"
	released  = ".released-"
	timestamp = "20060102T150405Z"
)

// folders is the directory. Nothing in it leads out: pods write there, and may put symbolic links into their volumes.
type folders struct {
	dir  string
	root *os.Root
	mu   sync.Mutex // of names; what is being deleted is so without it
}

// openFolders opens the directory, which only root may enter: the modes of volumes are for their pods.
func openFolders(dir string) (*folders, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("-dir: %q is not an absolute path", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := root.Chmod(".", 0o700); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &folders{dir: filepath.Clean(dir), root: root}, nil
}

func (f *folders) close() { _ = f.root.Close() }

// path is where the volume of a claim is.
func (f *folders) path(claim types.UID) string { return filepath.Join(f.dir, string(claim)) }

// size of the file system, in bytes, without what it keeps for root.
func (f *folders) size() (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(f.dir, &stat); err != nil {
		return 0, fmt.Errorf("read the size of the file system of %s: %w", f.dir, err)
	}
	return int64(stat.Blocks-stat.Bfree+stat.Bavail) * stat.Bsize, nil
}

// folderName returns the UID of a claim as the name of a folder. The API server makes UIDs, but users write them into volumes.
func folderName(claim types.UID) (string, error) {
	if problems := validation.IsDNS1123Label(string(claim)); len(problems) > 0 {
		return "", fmt.Errorf("the UID %q of the claim cannot be the name of a folder: %s", claim, strings.Join(problems, "; "))
	}
	return string(claim), nil
}

// create makes the folder of a claim that any user of a pod may write to, because pods without an fsGroup have one user or another. Where
// the claim had one that was released, it gets that one back.
func (f *folders) create(claim types.UID) error {
	name, err := folderName(claim)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch info, err := f.root.Lstat(name); {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is not a directory", f.path(claim))
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	before, err := f.releasedOf(name)
	if err != nil {
		return err
	}
	if len(before) > 0 {
		return f.move(before[len(before)-1], name)
	}
	temporary := creating + name
	if err := f.root.RemoveAll(temporary); err != nil {
		return err
	}
	if err := f.root.Mkdir(temporary, 0o700); err != nil {
		return err
	}
	if err := f.root.Chmod(temporary, 0o777); err != nil { // the process may have a umask
		return err
	}
	return f.move(temporary, name)
}

// remove deletes all that is there of a claim.
func (f *folders) remove(claim types.UID) error {
	name, err := folderName(claim)
	if err != nil {
		return err
	}
	if err := f.condemn(name); err != nil {
		return err
	}
	return f.erase(deleting + name)
}

// condemn renames what is there of a claim, so that it is deleted however often that is interrupted, and no pod begins with half of it.
func (f *folders) condemn(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	doomed, err := f.releasedOf(name)
	if err != nil {
		return err
	}
	for _, from := range append(doomed, name) {
		err := f.move(from, deleting+name)
		if errors.Is(err, fs.ErrExist) {
			// An earlier one is not deleted yet.
			if err = f.erase(deleting + name); err == nil {
				err = f.move(from, deleting+name)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// names of all that is in the directory, in order.
func (f *folders) names() ([]string, error) {
	top, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer top.Close()
	names, err := top.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// releasedOf returns the folders that a claim had, the last at the end.
func (f *folders) releasedOf(name string) ([]string, error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(n string) bool {
		claim, _, ok := parseReleased(n)
		return !ok || claim != name
	}), nil
}

// clear removes what an earlier process left half created.
func (f *folders) clear() error {
	names, err := f.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, creating) {
			err = errors.Join(err, f.root.RemoveAll(name))
		}
	}
	return err
}

// move renames, lastingly: a volume that a pod wrote to must be there after the power fails.
func (f *folders) move(from, to string) error {
	if err := f.root.Rename(from, to); err != nil {
		return err
	}
	top, err := f.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(top.Sync(), top.Close())
}

// nameReleased is the name of what a claim had, until the time.
func nameReleased(claim string, at time.Time) string {
	return released + claim + "-" + at.UTC().Format(timestamp)
}

func parseReleased(name string) (claim string, at time.Time, ok bool) {
	rest, ok := strings.CutPrefix(name, released)
	if !ok || len(rest) <= len(timestamp) {
		return "", time.Time{}, false
	}
	split := len(rest) - len(timestamp)
	at, err := time.Parse(timestamp, rest[split:])
	claim, hasDash := strings.CutSuffix(rest[:split], "-")
	return claim, at, err == nil && hasDash && claim != ""
}
