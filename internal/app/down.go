//go:build linux

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/server/status"
	"kqueen.io/kqueen/internal/workers/machine/local"
)

// Down stops everything that the installation in dir runs and keeps all data. It must not be called
// while a kqueen runs on it: a *supervise.LockedError says so. It works also after a kqueen was killed.
func Down(ctx context.Context, e engine.Engine, dir string, log *slog.Logger, report func(stage.Step)) error {
	r, err := supervise.New(supervise.Config{Dir: runDir(dir), Log: log})
	if err != nil {
		return err
	}
	err = stopAll(ctx, e, r, report)
	return errors.Join(err, r.Close())
}

// stopAll stops the machines first and then the tenants: an API server that outlives its etcd writes nothing but errors.
func stopAll(ctx context.Context, e engine.Engine, r *supervise.Supervisor, report func(stage.Step)) error {
	ids, err := r.List(ctx)
	if err != nil {
		return err
	}
	machines, err := local.Find(ctx, r)
	if err != nil {
		return err
	}
	tenants := 0
	stop := func(ctx context.Context, wanted func(id string) bool) error {
		group, ctx := errgroup.WithContext(ctx)
		for _, id := range ids {
			if wanted(id) {
				group.Go(func() error { return r.Stop(ctx, id) })
			}
		}
		return group.Wait()
	}
	for _, id := range ids {
		if !owns(e, id) && !machines.Has(id) {
			tenants++
		}
	}
	type phase struct {
		name   string
		wanted func(string) bool
	}
	phases := []phase{
		{"Stop " + text.Count(len(machines), "machine"), machines.Has},
		{"Stop " + text.Count(tenants, "control plane"), func(id string) bool { return !owns(e, id) && !machines.Has(id) }},
	}
	if slices.ContainsFunc(ids, isGate) {
		phases = append(phases, phase{"Stop the gates of other data stores", isGate})
	}
	if slices.Contains(ids, workloadSimulator) {
		phases = append(phases, phase{"Stop the simulated clusters", func(id string) bool { return id == workloadSimulator }})
	}
	phases = append(phases, phase{"Stop the gateways", isFront})
	for _, own := range e.Workloads() {
		phases = append(phases, phase{"Stop " + own.Title, func(id string) bool { return id == own.ID }})
	}
	for _, s := range phases {
		run := func(ctx context.Context) error { return stop(ctx, s.wanted) }
		if err := stage.Run(ctx, report, s.name, run); err != nil {
			return err
		}
	}
	return machines.LeaveHost(ctx)
}

// keeperFile is the lock of what starts KQueen again when it crashes (package daemon).
const keeperFile = "keeper.lock"

// DemoUsersFile has the passwords of the users of a demonstration, which the command line writes.
const DemoUsersFile = "demo-users.txt"

// auditFolder is the folder of audit logs in the data directory.
const auditFolder = "audit"

// contents are everything that KQueen puts into a data directory.
var contents = []string{
	"run", "etcd", "etcd-admin", "keys", "logs", auditFolder, "admin.kubeconfig", "settings.json", "settings.json.copy", status.Name, rest.LocalSocket,
	keeperFile, authorityFile, databaseFile, databaseFile + "-wal", databaseFile + "-shm", endingsFile,
	inventoryFile, inventoryFile + "-wal", inventoryFile + "-shm", DemoUsersFile, backupsDir, ownBackupsFolder,
	spoolFolder, restoringFolder,
}

// Reset stops everything and deletes all that KQueen has put into dir. What others have put there stays.
func Reset(ctx context.Context, e engine.Engine, dir string, log *slog.Logger, report func(stage.Step)) error {
	if err := Down(ctx, e, dir, log, report); err != nil {
		return err
	}
	return stage.Run(ctx, report, "Delete all data", func(context.Context) error {
		if err := deleteContents(dir); err != nil {
			return err
		}
		// With archives in it, the folder is the operator's.
		if err := os.Remove(imagesDir(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTEMPTY) {
			return fmt.Errorf("delete the folder for images: %w", err)
		}
		return nil
	})
}

// deleteContents deletes what KQueen has put into a data directory but for the owner's images.
func deleteContents(dir string) error {
	for _, name := range contents {
		asides, err := filepath.Glob(atomicfile.Asides(filepath.Join(dir, name)))
		if err != nil {
			return fmt.Errorf("find what was set aside of %s: %w", name, err)
		}
		for _, path := range append(asides, filepath.Join(dir, name)) {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("delete %s: %w", path, err)
			}
		}
	}
	return nil
}

// Used says whether dir holds an installation, be it damaged.
func Used(dir string) bool {
	return slices.ContainsFunc([]string{settingsFile(dir), settingsCopy(dir), filepath.Join(dir, "etcd")}, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}
