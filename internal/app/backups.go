//go:build linux

package app

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/archive/s3"
	"kqueen.io/kqueen/internal/clusters/backup"
	"kqueen.io/kqueen/internal/clusters/backupschedule"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/clusters/changelog"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/platform/operator"
)

// backupsDir is the folder of the first backup store, in the data directory.
const backupsDir = "backups"

// backups adds the reconcilers of backups, of their stores and of their schedules, which record changes.
func (d *apiServer) backups(ctx context.Context, a *App, mgr ctrl.Manager, stores *controlplane.DataStores) error {
	places := &backupPlaces{
		movedFrom: a.settings.MovedFrom, dir: a.Dir,
		guard: &connection.Guard{For: "stores of backups", Flag: "--backup-allow", Allowed: a.BackupAllowed, Machines: a.MachineNetwork},
	}
	kept := backupstore.Stores{
		Client: mgr.GetClient(), Secrets: mgr.GetAPIReader(),
		Bucket: places.open,
	}
	recorded := operator.NewNotices()
	recorders := changelog.New(ctx, changelog.Config{
		State: func(ctx context.Context, cp *v1alpha1.ControlPlane) (changelog.State, error) {
			return stores.State(ctx, cp)
		},
		Open: func(ctx context.Context, t changelog.Target) (backupstore.Opened, error) {
			return kept.Open(ctx, t.StoreName, t.Namespace, changelog.FolderOf(t.Log.Owner))
		},
		Skip: backup.Stays, Notify: recorded.Send, Now: time.Now,
	})
	if err := d.measure(recorders.Measures()); err != nil {
		return fmt.Errorf("register the measures of recorded changes: %w", err)
	}
	// What is told and not written yet is written before the program ends.
	err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		recorders.Wait()
		return nil
	}))
	if err != nil {
		return err
	}
	err = backup.Setup(ctx, mgr, backup.Config{
		State: func(ctx context.Context, cp *v1alpha1.ControlPlane) (backup.State, error) {
			return stores.State(ctx, cp)
		},
		Bucket: places.open, Look: places.look, Flush: recorders.Flush, Background: a.supervisor.Background,
	})
	if err != nil {
		return err
	}
	return backupschedule.Setup(ctx, mgr, backupschedule.Config{Stores: kept, Recorders: recorders}, recorded)
}

// backupPlaces opens where backups are kept.
type backupPlaces struct {
	// movedFrom are the data directories of before, and dir is the present one.
	movedFrom []string
	dir       string
	guard     *connection.Guard
}

// open opens a folder of a store.
func (p *backupPlaces) open(at backupstore.Place, folder string) (backupstore.Bucket, error) {
	if at.S3 == nil {
		return archive.OpenDirectory(relocated(at.Directory, p.movedFrom, p.dir), folder)
	}
	return s3.Open(s3.Config{
		Endpoint: at.S3.Endpoint, Region: at.S3.Region, Bucket: at.S3.Bucket, Prefix: at.S3.Prefix, CABundle: at.S3.CABundle,
		AccessKeyID: string(at.Credentials[v1alpha1.BackupStoreAccessKeyID]), SecretAccessKey: string(at.Credentials[v1alpha1.BackupStoreSecretAccessKey]),
		SessionToken: string(at.Credentials[v1alpha1.BackupStoreSessionToken]), Dial: p.guard.DialContext,
	}, folder)
}

// look sees that a place is there and no other store's, and says how many bytes are free there: a server says it of no bucket.
func (p *backupPlaces) look(ctx context.Context, at backupstore.Place, owner string) (int64, error) {
	folder, err := p.open(at, ".")
	if err != nil {
		return 0, err
	}
	defer func() { _ = folder.Close() }()
	if bucket, is := folder.(*s3.Bucket); is {
		return math.MaxInt64, bucket.Claim(ctx, owner)
	}
	return free(relocated(at.Directory, p.movedFrom, p.dir))
}

// relocated is where a directory is that a BackupStore names, which cannot be changed there: what was in a data directory from which the
// installation was moved is in the present one. It is pure.
func relocated(directory string, before []string, now string) string {
	for _, dir := range before {
		if below, err := filepath.Rel(dir, directory); err == nil && filepath.IsLocal(below) {
			return filepath.Join(now, below)
		}
	}
	return directory
}

// free is how many bytes may still be written below a directory.
func free(directory string) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(directory, &disk); err != nil {
		return 0, fmt.Errorf("look how much is free at %s: %w", directory, err)
	}
	return int64(disk.Bavail) * disk.Bsize, nil
}
