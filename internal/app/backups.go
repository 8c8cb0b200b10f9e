//go:build linux

package app

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/backup"
	"kqueen.io/kqueen/internal/hosting/controlplane"
)

// backupsDir is the folder of the first backup store, in the data directory.
const backupsDir = "backups"

// backups are what backups are made with: the data stores of control planes, and folders of this host.
func backups(stores *controlplane.DataStores) backup.Config {
	return backup.Config{
		State: func(ctx context.Context, cp *v1alpha1.ControlPlane) (backup.State, error) {
			return stores.State(ctx, cp)
		},
		Bucket: func(directory, folder string) (backup.Bucket, error) { return archive.OpenDirectory(directory, folder) },
		Free:   free,
	}
}

// free is how many bytes may still be written below a directory.
func free(directory string) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(directory, &disk); err != nil {
		return 0, fmt.Errorf("look how much is free at %s: %w", directory, err)
	}
	return int64(disk.Bavail) * disk.Bsize, nil
}
