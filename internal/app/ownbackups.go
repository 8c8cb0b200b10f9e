//go:build linux

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"

	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/stage"
)

const (
	// ownBackupsFolder has them, in the data directory.
	ownBackupsFolder = "installation-backups"
	// ownBackupName is the layout of their names, in UTC.
	ownBackupName = "kqueen-20060102T150405Z.backup"
	// ownBackupRetry is the time after which one that failed is tried again.
	ownBackupRetry = 10 * time.Minute
	// usualOwnBackupEvery and usualOwnBackupsKept hold where the owner does not say otherwise.
	usualOwnBackupEvery, usualOwnBackupsKept = 24 * time.Hour, 3
)

// NoOwnBackups is the [Config.OwnBackupEvery] of an installation that takes none.
const NoOwnBackups time.Duration = -1

// ownBackups takes backups of the installation by itself, into its data directory, and deletes those that are not kept any more. They
// are for damaged data stores and for mistakes of the owner; with its disk, an installation loses them, too.
type ownBackups struct {
	dir   string
	every time.Duration
	kept  int
	// born is when the installation was made: the first one is due that much later.
	born    time.Time
	take    func(ctx context.Context, to io.Writer) error
	now     func() time.Time
	problem func(error)
	log     *slog.Logger
	taken   prometheus.Gauge
}

// addOwnBackups has them taken while the installation runs.
func (d *apiServer) addOwnBackups(mgr ctrl.Manager, a *App) error {
	stores, ok := a.Engine.(Stores)
	if !ok || a.OwnBackupEvery < 0 {
		return nil
	}
	o := &ownBackups{
		dir: filepath.Join(a.Dir, ownBackupsFolder), every: a.OwnBackupEvery, kept: a.OwnBackupsKept,
		take: ownBackup(a.Config, stores), now: time.Now, log: a.Log.With("part", "installation backups"),
		problem: func(err error) { a.problems.note("installation backups", err) },
		taken: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kqueen_installation_backup_timestamp_seconds", Help: "When the installation took the last backup of itself that is kept, in seconds since 1970; 0 for never.",
		}),
	}
	if made, err := os.Stat(filepath.Join(a.Dir, keysFolder, auditKeyFile)); err == nil {
		o.born = made.ModTime()
	}
	if err := d.measure(o.taken); err != nil {
		return fmt.Errorf("register the measures of installation backups: %w", err)
	}
	return mgr.Add(o)
}

// ownBackup writes one without what is in the data directory anyway, and without what other tools back up.
func ownBackup(c Config, stores Stores) func(context.Context, io.Writer) error {
	without := []BackupPart{PartBackups, PartImages, PartInventory}
	if database.OnServer(databaseURL(c)) {
		without = append(without, PartDatabase)
	}
	return func(ctx context.Context, to io.Writer) error {
		_, _, err := BackUp(ctx, BackupConfig{
			Dir: c.Dir, Stores: stores, Version: c.Version, Releases: c.Releases, Without: without, Own: true, Report: func(stage.Step) {},
		}, to)
		return err
	}
}

// Start takes them until ctx ends.
func (o *ownBackups) Start(ctx context.Context) error {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
		next, err := o.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			err = fmt.Errorf("the installation could not back itself up: %w; it tries again within %s", err, ownBackupRetry)
			o.log.Error("no backup of the installation", "error", err)
		}
		o.problem(err)
		again.Reset(next.Sub(o.now()))
	}
}

// look takes one when it is due, and returns when to look again.
func (o *ownBackups) look(ctx context.Context) (time.Time, error) {
	now := o.now()
	retry := now.Add(ownBackupRetry)
	taken, err := o.list(now)
	if err != nil {
		return retry, err
	}
	due := dueOwnBackup(taken, o.born, now, o.every)
	if !due.After(now) {
		if err := atomicfile.WriteFrom(filepath.Join(o.dir, now.UTC().Format(ownBackupName)), 0o600, func(w io.Writer) error { return o.take(ctx, w) }); err != nil {
			return retry, err
		}
		due, taken = now.Add(o.every), append(taken, now)
		o.log.Info("the installation has backed itself up", "folder", o.dir)
	}
	if len(taken) > 0 {
		o.taken.Set(float64(taken[len(taken)-1].Unix()))
	}
	for len(taken) > o.kept {
		if err := os.Remove(filepath.Join(o.dir, taken[0].UTC().Format(ownBackupName))); err != nil {
			return retry, fmt.Errorf("delete a backup that is not kept any more: %w", err)
		}
		taken = taken[1:]
	}
	return due, nil
}

// list returns when those that are there were taken, the oldest first, and removes what a KQueen left that ended while it wrote one. One of a
// time to come is from before the clock was set back: it would be the last one until then, and others would not be kept.
func (o *ownBackups) list(now time.Time) ([]time.Time, error) {
	if err := atomicfile.Folder(atomicfile.Host{}, o.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for backups of the installation: %w", err)
	}
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return nil, fmt.Errorf("look for backups of the installation: %w", err)
	}
	var taken []time.Time
	var left []error
	for _, e := range entries {
		at, err := time.Parse(ownBackupName, e.Name())
		switch {
		case err == nil && at.After(now):
		case err == nil:
			taken = append(taken, at)
		case strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".tmp"):
			left = append(left, os.Remove(filepath.Join(o.dir, e.Name())))
		}
	}
	slices.SortFunc(taken, time.Time.Compare)
	return taken, errors.Join(left...)
}

// dueOwnBackup says when the next one is to be taken: at once, where the installation is from a time to come. It is pure.
func dueOwnBackup(taken []time.Time, born, now time.Time, every time.Duration) time.Time {
	switch {
	case len(taken) > 0:
		return taken[len(taken)-1].Add(every)
	case born.After(now):
		return now
	}
	return born.Add(every)
}
