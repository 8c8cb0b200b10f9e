//go:build linux

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// Stores are the data stores of an installation, which its engine knows.
type Stores interface {
	// SaveStores saves what all of them hold as of one moment, while they run, as files in a folder.
	SaveStores(ctx context.Context, dir, to string) error
	// RestoreStores makes them in a data directory of those files.
	RestoreStores(dir, from string) error
	Workloads() []engine.Workload
}

// BackupKind is what the file of a backup of an installation says that it is.
const BackupKind = "kqueen-installation-backup"

// BackupAbout is what a backup of an installation says of itself.
type BackupAbout struct {
	TakenAt time.Time `json:"takenAt"`
	// Host and DataDir are where the installation ran.
	Host    string `json:"host"`
	DataDir string `json:"dataDir"`
	// Version is KQueen's, and Kubernetes that of the admin plane. Releases are those that were on the machine.
	Version    string   `json:"version"`
	Kubernetes string   `json:"kubernetes"`
	Releases   []string `json:"releases,omitempty"`
	// Bytes is how large its files are together, and Without which parts were left out.
	Bytes   int64        `json:"bytes"`
	Without []BackupPart `json:"without,omitempty"`
}

// BackupPart is a part of an installation that may be left out of a backup.
type BackupPart string

// The parts that may be left out: the first store of backups, the owner's images for nodes, what ran in clusters, and users, tokens and
// the audit log.
const (
	PartBackups   BackupPart = "backups"
	PartImages    BackupPart = "images"
	PartInventory BackupPart = "inventory"
	PartDatabase  BackupPart = "database"
)

// BackupParts are all of these.
func BackupParts() []BackupPart {
	return []BackupPart{PartBackups, PartImages, PartInventory, PartDatabase}
}

const (
	// spoolFolder is where a backup keeps what it copies before it is written, and restoringFolder where a restore keeps what it reads
	// before it is whole. Both are in the data directory.
	spoolFolder     = "installation-backup.tmp"
	restoringFolder = "installation-restore.tmp"
	// snapshotsFolder has the snapshots of data stores, in a backup.
	snapshotsFolder = "snapshots"
	keysFolder      = "keys"
	auditKeyFile    = "audit.key" // among the keys
	imagesFolder    = "images"
)

// lockDir takes a lock of the data directory that backups and restores have, and nothing else. The kernel gives it back when the process ends.
func lockDir(dir string) (unlock func() error, err error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the data directory: %w", err)
	}
	err = unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("another backup or restore of %s is under way", dir)
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder.Close, nil
}

// item is a file of an installation that goes into a backup.
type item struct {
	name, path string
	size       int64
	// passing says that it may be gone when it is its turn.
	passing bool
}

// items are the files of the installation in dir that are copied as they are. Settings come before keys: what they say of keys that were
// made meanwhile is noted by the next start. Files that are being written have a name with a dot.
func items(dir string, without []BackupPart, own []engine.Workload) ([]item, error) {
	all := collected{dir: dir}
	all.file("settings.json", false)
	all.folder(keysFolder, false)
	all.file(endingsFile, true)
	all.file(DemoUsersFile, true)
	all.folder(auditFolder, true)
	all.ports(own)
	if !slices.Contains(without, PartBackups) {
		all.folder(backupsDir, true)
	}
	if !slices.Contains(without, PartImages) {
		all.folder(imagesFolder, true)
	}
	return all.items, all.err
}

// collected gathers files until something goes wrong.
type collected struct {
	dir   string
	items []item
	err   error
}

func (c *collected) file(name string, passing bool) {
	path := filepath.Join(c.dir, name)
	info, err := os.Stat(path)
	switch {
	case passing && errors.Is(err, fs.ErrNotExist):
	case err != nil:
		c.err = errors.Join(c.err, fmt.Errorf("look for what to back up: %w", err))
	case info.Mode().IsRegular():
		c.items = append(c.items, item{name, path, info.Size(), passing})
	}
}

// folder gathers the files of a folder and those below it. A link is not followed.
func (c *collected) folder(name string, passing bool) {
	err := filepath.WalkDir(filepath.Join(c.dir, name), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && passing {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), ".") {
			below, err := filepath.Rel(c.dir, path)
			if err != nil {
				return err
			}
			c.file(below, passing)
		}
		return nil
	})
	if err != nil {
		c.err = errors.Join(c.err, fmt.Errorf("look for what to back up: %w", err))
	}
}

// ports gathers at which ports clients reach control planes. Those of the engine's own workloads are for this host alone: another one has
// others free.
func (c *collected) ports(own []engine.Workload) {
	workloads := filepath.Join("run", "workloads")
	entries, err := os.ReadDir(filepath.Join(c.dir, workloads))
	if err != nil {
		c.err = errors.Join(c.err, fmt.Errorf("look for ports: %w", err))
	}
	for _, entry := range entries {
		if !slices.ContainsFunc(own, func(w engine.Workload) bool { return w.ID == entry.Name() }) && !isFront(entry.Name()) && !isGate(entry.Name()) {
			c.file(filepath.Join(workloads, entry.Name(), supervise.PortsFile), true)
		}
	}
}

// belongs says whether a backup may have a file of that name. It is pure.
func belongs(name string) bool {
	switch name {
	case "settings.json", endingsFile, DemoUsersFile, databaseFile, inventoryFile:
		return true
	}
	parts := strings.Split(name, "/")
	switch parts[0] {
	case keysFolder, auditFolder, backupsDir, imagesFolder, snapshotsFolder:
		return len(parts) > 1
	case "run":
		return len(parts) == 4 && parts[1] == "workloads" && parts[3] == supervise.PortsFile
	}
	return false
}

// interrupted says that a restore into dir began and did not come to its end: what is there is no installation.
func interrupted(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, restoringFolder)); err != nil {
		return nil //nolint:nilerr // what cannot be looked at is told when the directory is read next
	}
	return fmt.Errorf("a restore into %s was interrupted; repeat it: kqueen installation restore FILE", dir)
}
