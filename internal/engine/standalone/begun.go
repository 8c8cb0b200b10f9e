//go:build linux

package standalone

import (
	"context"
	"fmt"
	"path/filepath"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// clusterNote is the name in the ledger under which it stands that an etcd has begun to keep data in a folder.
func clusterNote(folder string) string { return folder + "/" + member }

// noteID is the key there of the etcd cluster.
const noteID = "cluster"

// identified is an etcd that says which cluster it is. *datastore.Store is one.
type identified interface {
	ClusterID(ctx context.Context) (string, error)
}

// noteCluster remembers, outside of the folder, that an etcd keeps data there: an empty folder is not taken for a new installation
// then. Another cluster than before is one that was restored, which etcd gives another id; its keys are what tells whether it is ours.
func (u *bringUp) noteCluster(ctx context.Context, folder string, etcd identified) error {
	id, err := etcd.ClusterID(ctx)
	if err != nil {
		return err
	}
	if before := u.Trust.Roots(clusterNote(folder))[noteID]; before != "" && before != id {
		u.Log.Warn("the data of an etcd are those of another cluster than before", "folder", folder, "before", before, "now", id)
	}
	if err := u.Trust.Note(clusterNote(folder), map[string]string{noteID: id}); err != nil {
		return fmt.Errorf("note that %s has data: %w", folder, err)
	}
	return nil
}

// begun refuses to begin anew where an etcd had data before. there says whether it has any now.
func (u *bringUp) begun(folder string, there bool) error {
	noted := u.Trust.Roots(clusterNote(folder))[noteID]
	if there || noted == "" {
		return nil
	}
	return &atomicfile.DamagedError{
		Path: filepath.Join(u.Dir, folder, member), Problem: fmt.Sprintf("is gone, with the data of the etcd cluster %s", noted),
		Remedy: "etcd does not start empty, because all that control planes hold would be lost without a warning: restore the folder from a backup",
	}
}
