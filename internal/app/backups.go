//go:build linux

package app

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/backup"
	"kqueen.io/kqueen/internal/clusters/backupschedule"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/clusters/changelog"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/platform/operator"
)

// backupsDir is the folder of the first backup store, in the data directory.
const backupsDir = "backups"

// backups adds the reconcilers of backups, of their stores and of their schedules, which record changes.
func (d *apiServer) backups(ctx context.Context, mgr ctrl.Manager, stores *controlplane.DataStores) error {
	kept := backupstore.Stores{
		Client: mgr.GetClient(), Secrets: mgr.GetAPIReader(),
		Bucket: func(directory, folder string) (backupstore.Bucket, error) {
			return archive.OpenDirectory(directory, folder)
		},
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
		Bucket: kept.Bucket, Free: free, Flush: recorders.Flush,
	})
	if err != nil {
		return err
	}
	return backupschedule.Setup(ctx, mgr, backupschedule.Config{Stores: kept, Recorders: recorders}, recorded)
}

// free is how many bytes may still be written below a directory.
func free(directory string) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(directory, &disk); err != nil {
		return 0, fmt.Errorf("look how much is free at %s: %w", directory, err)
	}
	return int64(disk.Bavail) * disk.Bsize, nil
}
