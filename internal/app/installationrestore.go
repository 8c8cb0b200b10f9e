//go:build linux

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/Masterminds/semver/v3"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/sealedtar"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// RestoreConfig says where a backup of an installation is restored to.
type RestoreConfig struct {
	// Dir is the data directory, which must not be there yet or be empty, Stores makes its data stores, and Version is that of KQueen.
	Dir     string
	Stores  Stores
	Version string
	// Keys open the backup.
	Keys   []age.Identity
	Report func(stage.Step)
}

// VerifyBackup reads a backup to its end and returns what is in it. One that is not whole, foreign, or locked with another key is an error
// of package sealedtar.
func VerifyBackup(from io.Reader, keys []age.Identity) (about BackupAbout, files []sealedtar.File, err error) {
	files, err = sealedtar.Read(from, BackupKind, keys, func(a BackupAbout) error { about = a; return nil },
		func(name string, _ int64, _ io.Reader) error { return known(name) })
	return about, files, err
}

// known refuses files of which this program does not know what they are.
func known(name string) error {
	if !belongs(name) {
		return fmt.Errorf("it has the file %.200q, which this version of KQueen does not know; use the one that has taken it, or a newer one", name)
	}
	return nil
}

// Restore makes an installation of a backup, which is not started. Nothing is in its place before all of it is there and was found whole; a
// restore that was interrupted is repeated.
func Restore(ctx context.Context, c RestoreConfig, from io.Reader) (about BackupAbout, err error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return about, fmt.Errorf("make the data directory: %w; choose another with --data-dir", err)
	}
	unlock, err := lockDir(c.Dir)
	if err != nil {
		return about, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	r := &restoring{RestoreConfig: c, folder: filepath.Join(c.Dir, restoringFolder)}
	if err := r.prepare(); err != nil {
		return about, err
	}
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"Read and check the backup", func(ctx context.Context) error { return r.read(ctx, from) }},
		{"Data stores (etcd)", func(context.Context) error { return r.stores() }},
		{"Settings and audit log", r.adapt},
		{"Put everything in its place", func(context.Context) error { return r.place() }},
	}
	for i, s := range steps {
		if err := stage.Run(ctx, c.Report, s.name, s.run); err != nil {
			if i < len(steps)-1 { // nothing is in its place yet
				err = errors.Join(err, os.RemoveAll(r.folder))
			}
			return r.about, err
		}
	}
	return r.about, nil
}

// restoring is a restore under way.
type restoring struct {
	RestoreConfig
	folder   string
	about    BackupAbout
	settings *settings
}

// prepare refuses a data directory that holds anything but what an interrupted restore has left, and removes that.
func (r *restoring) prepare() error {
	if err := checkDir(r.Dir); err != nil {
		return err
	}
	if interrupted(r.Dir) != nil {
		if err := errors.Join(os.RemoveAll(imagesDir(r.Dir)), deleteContents(r.Dir)); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return fmt.Errorf("look into the data directory: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == "lost+found" { // of a file system of its own
			continue
		}
		advice := "restore into another with --data-dir"
		if Used(r.Dir) {
			advice += ", or delete the installation that is there: kqueen reset"
		}
		return fmt.Errorf("%s is not empty: it has %s; %s", r.Dir, entry.Name(), advice)
	}
	if err := os.Mkdir(r.folder, 0o700); err != nil {
		return fmt.Errorf("create a folder for what is restored: %w", err)
	}
	return nil
}

// read reads all of a backup into the folder.
func (r *restoring) read(ctx context.Context, from io.Reader) error {
	root, err := os.OpenRoot(r.folder)
	if err != nil {
		return fmt.Errorf("open the folder for what is restored: %w", err)
	}
	defer root.Close()
	_, err = sealedtar.Read(from, BackupKind, r.Keys, r.begin, func(name string, _ int64, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := known(name); err != nil {
			return err
		}
		return extract(root, name, content)
	})
	return err
}

// begin refuses what this program cannot restore, or the disk not hold: etcd makes its data of snapshots, which are there as long.
func (r *restoring) begin(about BackupAbout) error {
	r.about = about
	if newer(about.Version, r.Version) {
		return fmt.Errorf("it was taken by KQueen %s, and this is %s: an older one does not know what a newer one has written; use %s or a newer one", about.Version, r.Version, about.Version)
	}
	left, err := free(r.Dir)
	if err == nil && left < 2*about.Bytes+leastDisk {
		err = fmt.Errorf("not enough disk: %s has %d MiB free, and needs %d MiB for the backup and %d MiB for KQueen; choose another place with --data-dir", r.Dir, left>>20, 2*about.Bytes>>20, leastDisk>>20)
	}
	return err
}

// newer says whether a version comes after that of this program; of a build without a version that is not known. It is pure.
func newer(taken, own string) bool {
	a, err := semver.NewVersion(taken)
	if err != nil {
		return false
	}
	b, err := semver.NewVersion(own)
	return err == nil && a.GreaterThan(b)
}

func extract(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	if _, err := io.Copy(file, content); err != nil {
		return errors.Join(fmt.Errorf("restore %s: %w", name, err), file.Close())
	}
	return file.Close()
}

// stores makes the data stores of their snapshots.
func (r *restoring) stores() error {
	from := filepath.Join(r.folder, snapshotsFolder)
	if err := r.Stores.RestoreStores(r.folder, from); err != nil {
		return err
	}
	return os.RemoveAll(from)
}

// adapt makes of the settings what holds here, and records what was done.
func (r *restoring) adapt(ctx context.Context) error {
	var err error
	if r.settings, err = readSettings(settingsFile(r.folder)); err == nil && r.settings == nil {
		err = errors.New("the backup has no settings")
	}
	if err != nil {
		return err
	}
	r.settings.moved(r.about.DataDir, r.Dir)
	if err := r.settings.save(r.folder); err != nil {
		return err
	}
	if err := endLine(filepath.Join(r.folder, auditFolder, "audit.log")); err != nil {
		return err
	}
	path := filepath.Join(r.folder, databaseFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil // it is on a server
	}
	db, err := database.OpenExisting(database.FileURL(path), r.settings.Trust[databaseFile][databaseID])
	if err != nil {
		return err
	}
	err = record(ctx, db, r.folder, audit.Record{Action: "restore-installation", Detail: map[string]string{
		"takenAt": r.about.TakenAt.Format("2006-01-02T15:04:05Z07:00"), "host": r.about.Host,
	}})
	return errors.Join(err, db.Close())
}

// moved notes that the installation ran in another data directory, and has its database in this one where it is a file.
func (s *settings) moved(from, to string) {
	s.MovedFrom = slices.DeleteFunc(append(s.MovedFrom, from), func(dir string) bool { return dir == to })
	slices.Sort(s.MovedFrom)
	s.MovedFrom = slices.Compact(s.MovedFrom)
	if s.Database == "" || database.OnServer(s.Database) {
		return
	}
	name := databaseName(Config{Dir: from, Database: s.Database})
	trust := maps.Clone(s.Trust)
	if id, ok := trust[name]; ok && name != databaseFile {
		delete(trust, name)
		trust[databaseFile] = id
	}
	s.Trust, s.Database = trust, ""
}

// endLine ends a line that was being written when the file was copied: what is written behind it is another one.
func endLine(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (len(data) == 0 || bytes.HasSuffix(data, []byte("\n"))) {
		return nil
	}
	if err == nil {
		err = atomicfile.Write(path, append(data, '\n'), 0o600)
	}
	return err
}

// place moves everything from the folder to its place, and the settings last: without them there is no installation. Where it is
// interrupted the folder is still there, and KQueen does not start.
func (r *restoring) place() error {
	if err := syncDisk(r.folder); err != nil {
		return err
	}
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		return fmt.Errorf("look at what was restored: %w", err)
	}
	disk := atomicfile.Host{}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return isSettings(a) - isSettings(b) })
	for _, entry := range entries {
		if err := disk.Rename(filepath.Join(r.folder, entry.Name()), filepath.Join(r.Dir, entry.Name())); err != nil {
			return fmt.Errorf("put %s in its place: %w", entry.Name(), err)
		}
	}
	if err := disk.Sync(r.Dir); err != nil {
		return fmt.Errorf("sync the data directory: %w", err)
	}
	if err := os.Remove(r.folder); err != nil {
		return fmt.Errorf("remove the folder of the restore: %w", err)
	}
	return disk.Sync(r.Dir)
}

func isSettings(entry fs.DirEntry) int {
	if strings.HasPrefix(entry.Name(), "settings.json") {
		return 1
	}
	return 0
}

// syncDisk returns once all that was written outlives a loss of power.
func syncDisk(folder string) error {
	dir, err := os.Open(folder)
	if err == nil {
		err = errors.Join(unix.Syncfs(int(dir.Fd())), dir.Close())
	}
	if err != nil {
		return fmt.Errorf("sync what was restored: %w", err)
	}
	return nil
}
