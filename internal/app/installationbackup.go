//go:build linux

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"filippo.io/age"

	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/sealedtar"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// BackupConfig says what is backed up, and to whose keys.
type BackupConfig struct {
	// Dir is the data directory, Stores its data stores, Version that of KQueen and Releases the folder of the Kubernetes programs.
	Dir      string
	Stores   Stores
	Version  string
	Releases string
	// Without are parts that are left out.
	Without []BackupPart
	// Recipients are those who can read it; with none it is not encrypted.
	Recipients []age.Recipient
	// Own says that the installation takes it by itself, to a file on the disk of Dir.
	Own    bool
	Report func(stage.Step)
}

// BackUp writes a backup of the installation in a data directory, whose data stores run. KQueen itself may run or not, and clusters are
// used meanwhile: what was acknowledged before is in it. After an error what was written is of no use.
//
// Parts are taken in an order in which each knows all that the ones before refer to: data stores, the database with the audit log, what
// is not copied there yet, and keys.
func BackUp(ctx context.Context, c BackupConfig, to io.Writer) (about BackupAbout, files []sealedtar.File, err error) {
	unlock, err := lockDir(c.Dir)
	if err != nil {
		return about, nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	b := &backingUp{BackupConfig: c, spool: filepath.Join(c.Dir, spoolFolder)}
	if err := b.prepare(); err != nil {
		return about, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.spool)) }()
	for _, s := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"Data stores (etcd)", func(ctx context.Context) error {
			return c.Stores.SaveStores(ctx, c.Dir, filepath.Join(b.spool, snapshotsFolder))
		}},
		{"Database", b.databases},
		{"Files", func(ctx context.Context) error { about, files, err = b.write(ctx, to); return err }},
	} {
		if err := stage.Run(ctx, c.Report, s.name, s.run); err != nil {
			return about, nil, err
		}
	}
	return about, files, nil
}

// backingUp is a backup in the making.
type backingUp struct {
	BackupConfig
	spool    string
	settings *settings
	url      string
}

// prepare reads where what is, refuses what cannot be done, and makes room for copies.
func (b *backingUp) prepare() error {
	var err error
	if b.settings, err = readSettings(settingsFile(b.Dir)); err == nil && b.settings == nil {
		err = fmt.Errorf("%s is gone; start KQueen, which uses its copy, or put it back", settingsFile(b.Dir))
	}
	if err != nil {
		return err
	}
	b.url = databaseURL(Config{Dir: b.Dir, Database: b.settings.Database})
	switch without := slices.Contains(b.Without, PartDatabase); {
	case without && !database.OnServer(b.url):
		return errors.New("the database is a file of this installation and cannot be left out (--without database): without its users and audit log a restored KQueen opens no API")
	case !without && database.OnServer(b.url):
		return errors.New("users, tokens and the audit log are in PostgreSQL, whose own tools back it up. " +
			"Leave them out here (--without database), and then dump them: pg_dump --format=custom")
	}
	// What an earlier backup left that was killed.
	if err := os.RemoveAll(b.spool); err != nil {
		return fmt.Errorf("remove what an earlier backup left: %w", err)
	}
	if err := b.fits(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(b.spool, snapshotsFolder), 0o700); err != nil {
		return fmt.Errorf("create a folder for copies: %w", err)
	}
	return nil
}

// fits refuses to fill the disk of an installation that runs with copies of its data.
func (b *backingUp) fits() error {
	var need int64
	for _, name := range []string{"etcd/member/snap/db", "etcd-admin/member/snap/db", databaseFile, databaseFile + "-wal", inventoryFile, inventoryFile + "-wal"} {
		if info, err := os.Stat(filepath.Join(b.Dir, name)); err == nil {
			need += info.Size()
		}
	}
	if b.Own { // the file itself is compressed, by how much is not known before
		need *= 2
	}
	left, err := free(b.Dir)
	if err == nil && left < need+leastDisk {
		err = fmt.Errorf("not enough disk: %s has %d MiB free, and copies of its data take %d MiB beside the %d MiB that KQueen needs; free some", b.Dir, left>>20, need>>20, leastDisk>>20)
	}
	return err
}

// databases copies the databases that are files, after it was recorded that this is done.
func (b *backingUp) databases(ctx context.Context) error {
	db, err := database.OpenExisting(b.url, b.settings.Trust[databaseName(Config{Dir: b.Dir, Database: b.settings.Database})][databaseID])
	if err != nil {
		return err
	}
	if err := b.copyDatabase(ctx, db); err != nil {
		return errors.Join(fmt.Errorf("users, tokens and the audit log: %w", err), db.Close())
	}
	if err := db.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	path := filepath.Join(b.Dir, inventoryFile)
	if _, err := os.Stat(path); slices.Contains(b.Without, PartInventory) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ran, err := database.OpenExisting(database.FileURL(path), "")
	if err != nil {
		return err
	}
	if err := errors.Join(ran.CopyTo(ctx, filepath.Join(b.spool, inventoryFile)), ran.Close()); err != nil {
		return fmt.Errorf("what ran in clusters: %w", err)
	}
	return nil
}

func (b *backingUp) copyDatabase(ctx context.Context, db *database.DB) error {
	if err := record(ctx, db, b.Dir, audit.Record{Action: "back-up-installation", Detail: map[string]string{"encrypted": fmt.Sprint(len(b.Recipients) > 0), "scheduled": fmt.Sprint(b.Own)}}); err != nil {
		return err
	}
	if slices.Contains(b.Without, PartDatabase) {
		return nil
	}
	return db.CopyTo(ctx, filepath.Join(b.spool, databaseFile))
}

// record records what the owner of the data directory does with the whole installation: a user who has the file of a backup and can open it has all
// keys.
func record(ctx context.Context, db *database.DB, dir string, r audit.Record) error {
	key, err := pki.ReadSecretKey(filepath.Join(dir, keysFolder, auditKeyFile))
	if err != nil {
		return fmt.Errorf("key of the audit log: %w", err)
	}
	log, err := audit.New(db, key)
	if err != nil {
		return err
	}
	r.Actor, r.Object, r.Outcome = audit.Actor{Kind: audit.Owner}, audit.Object{Kind: "Installation"}, audit.Succeeded
	_, err = log.Append(ctx, r)
	return err
}

// write writes what was copied, and the files that are copied as they are.
func (b *backingUp) write(ctx context.Context, to io.Writer) (BackupAbout, []sealedtar.File, error) {
	all, err := b.all()
	if err != nil {
		return BackupAbout{}, nil, err
	}
	about, err := b.about(all)
	if err != nil {
		return BackupAbout{}, nil, err
	}
	var files []sealedtar.File
	err = sealedtar.Write(to, BackupKind, about, b.Recipients, func(w *sealedtar.Writer) error {
		for _, i := range all {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			err := w.AddFile(filepath.ToSlash(i.name), i.path)
			if err != nil && (!i.passing || !errors.Is(err, fs.ErrNotExist)) {
				return err
			}
		}
		files = w.Files()
		return nil
	})
	return about, files, err
}

func (b *backingUp) all() ([]item, error) {
	copied := collected{dir: b.spool}
	copied.folder(".", false)
	if copied.err != nil {
		return nil, copied.err
	}
	asTheyAre, err := items(b.Dir, b.Without, b.Stores.Workloads())
	return append(copied.items, asTheyAre...), err
}

func (b *backingUp) about(all []item) (BackupAbout, error) {
	host, err := os.Hostname()
	if err != nil {
		return BackupAbout{}, fmt.Errorf("ask for the name of this host: %w", err)
	}
	about := BackupAbout{
		TakenAt: time.Now().UTC().Truncate(time.Second), Host: host, DataDir: b.Dir, Version: b.Version, Kubernetes: b.settings.AdminVersion, Without: b.Without,
	}
	for _, i := range all {
		about.Bytes += i.size
	}
	installed, _ := release.NewStore(b.Releases).List() // one that is damaged is to be built again in any case
	for _, binaries := range installed {
		about.Releases = append(about.Releases, binaries.Version.String())
	}
	return about, nil
}
