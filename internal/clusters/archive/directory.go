package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// Directory is a bucket that is a folder of this host. It follows no symlink that leads out of it.
type Directory struct{ root *os.Root }

const (
	folderMode, fileMode = 0o700, 0o600
	// leftover is the age of a file that is being written from which on its writer is dead.
	leftover = time.Hour
)

// OpenDirectory opens the bucket in a folder below another one, and makes both where they are not there. The caller closes it.
func OpenDirectory(above, folder string) (*Directory, error) {
	if err := atomicfile.Folder(atomicfile.Host{}, above, folderMode); err != nil {
		return nil, fmt.Errorf("make the folder of backups: %w", err)
	}
	root, err := os.OpenRoot(above)
	if err != nil {
		return nil, fmt.Errorf("open the folder of backups: %w", err)
	}
	defer func() { _ = root.Close() }()
	if err := atomicfile.Folder(atomicfile.Rooted{Root: root}, folder, folderMode); err != nil {
		return nil, fmt.Errorf("make the folder of a cluster's backups: %w", err)
	}
	own, err := root.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the folder of a cluster's backups: %w", err)
	}
	return &Directory{own}, nil
}

// Close lets the folder go.
func (d *Directory) Close() error { return d.root.Close() }

// Put implements [Bucket].
func (d *Directory) Put(ctx context.Context, name string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	disk := atomicfile.Rooted{Root: d.root}
	if err := atomicfile.Folder(disk, path.Dir(name), folderMode); err != nil {
		return err
	}
	return atomicfile.WriteOn(disk, name, data, fileMode)
}

// Get implements [Bucket].
func (d *Directory) Get(ctx context.Context, name string, most int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file, err := d.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = damaged("%s has more than %d bytes", name, most)
	}
	return data, err
}

// List implements [Bucket]. It removes what a writer that was killed has left.
func (d *Directory) List(ctx context.Context, folder string) ([]string, error) {
	var names []string
	err := fs.WalkDir(d.root.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == folder {
			return fs.SkipAll
		}
		if err != nil || entry.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		if !strings.HasPrefix(path.Base(name), ".") {
			names = append(names, name)
			return nil
		}
		info, err := entry.Info()
		if err != nil || time.Since(info.ModTime()) < leftover {
			return nil //nolint:nilerr // it was renamed meanwhile
		}
		return d.Delete(ctx, name)
	})
	return names, err
}

// Delete implements [Bucket].
func (d *Directory) Delete(_ context.Context, name string) error {
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
