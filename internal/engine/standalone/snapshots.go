//go:build linux

package standalone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/supervise"
)

const (
	// mostCuts is how often snapshots are begun again because the admin plane changed while they were. One takes some milliseconds.
	mostCuts = 200
	// cutTimeout bounds all of these, and saveTimeout the copying, which is as fast as the disk.
	cutTimeout  = time.Minute
	saveTimeout = 30 * time.Minute
)

// stores are the data stores that an installation may have, the one with the objects of the admin plane last.
func stores(dir string) ([]*etcd, error) {
	all := []*etcd{{workload: WorkloadStore, member: "default", folder: storeFolder}}
	_, err := os.Stat(filepath.Join(dir, "keys", adminStoreKeysFile))
	switch {
	case err == nil:
		all = append(all, &etcd{workload: WorkloadAdminStore, member: "admin", folder: adminStoreFolder})
	case !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("look for the admin plane's data store: %w", err)
	}
	return all, nil
}

// snapshotFile is where the snapshot of an etcd is, in a folder of snapshots.
func (e *etcd) snapshotFile(in string) string { return filepath.Join(in, e.folder+".snapshot") }

// SaveStores saves what the data stores of the installation in dir hold, while they run, as files in a folder. They are of one
// moment: nothing was changed in the admin plane between the snapshots, so that what is restored from them is as after a loss of power.
func (*Engine) SaveStores(ctx context.Context, dir, to string) (err error) {
	all, err := stores(dir)
	if err != nil {
		return err
	}
	opened, err := openAll(ctx, dir, all)
	defer func() {
		for _, store := range opened {
			err = errors.Join(err, store.Close())
		}
	}()
	if err != nil {
		return err
	}
	var open []snapshotted
	for _, store := range opened {
		open = append(open, datastore.SnapshotsOf(store))
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	taken, err := cut(ctx, open)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() { closeAll(taken) })()
	for i, e := range all {
		group.Go(func() error { return save(taken[i], e.snapshotFile(to)) })
	}
	return group.Wait()
}

// openAll connects to all of them. Those that it returns are to be closed, also after an error.
func openAll(ctx context.Context, dir string, all []*etcd) (opened []*datastore.Store, err error) {
	for _, e := range all {
		if err := e.find(dir); err != nil {
			return opened, err
		}
		store, err := e.open(ctx)
		if err != nil {
			return opened, fmt.Errorf("connect to %s, which has to run (kqueen up): %w", e.workload, err)
		}
		opened = append(opened, store)
	}
	return opened, nil
}

// find reads how to reach an etcd of an installation that runs: its keys, and the port that was reserved for it.
func (e *etcd) find(dir string) error {
	keys := storeKeysFile
	if e.folder == adminStoreFolder {
		keys = adminStoreKeysFile
	}
	ports := map[string]int{}
	e.keys = pki.Bundle{}
	for file, into := range map[string]any{
		filepath.Join(dir, "keys", keys):                                        &e.keys,
		filepath.Join(dir, "run", "workloads", e.workload, supervise.PortsFile): &ports,
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("look for %s: %w", e.workload, err)
		}
		if json.Unmarshal(data, into) != nil { // its error could quote a key
			return fmt.Errorf("look for %s: %s is damaged", e.workload, file)
		}
	}
	e.endpoint = endpoint(ports[portClient])
	return nil
}

// snapshotted is an etcd of which snapshots are taken. datastore.Snapshots are.
type snapshotted interface {
	Revision(ctx context.Context) (int64, error)
	Snapshot(ctx context.Context) (io.ReadCloser, error)
}

// cut begins a snapshot of each, and again until nothing was changed in the last one meanwhile: what objects say and what tenants hold fit
// together then. Were the admin plane newer, a cluster could have been taken back, or be half restored, that its objects call whole; were
// it older, a version of Kubernetes would start on data that a later one wrote.
func cut(ctx context.Context, all []snapshotted) ([]io.ReadCloser, error) {
	deadline := time.Now().Add(cutTimeout)
	admin := all[len(all)-1]
	for n := 0; n < mostCuts && time.Now().Before(deadline); n++ {
		before, err := admin.Revision(ctx)
		if err != nil {
			return nil, err
		}
		taken, err := begin(ctx, all)
		if err != nil {
			return nil, err
		}
		after, err := admin.Revision(ctx)
		if err != nil {
			closeAll(taken)
			return nil, err
		}
		if before == after || len(all) == 1 {
			return taken, nil
		}
		closeAll(taken)
	}
	return nil, errors.New("the admin plane changes too often to back it up together with the clusters; run it again when there is less to do")
}

func begin(ctx context.Context, all []snapshotted) ([]io.ReadCloser, error) {
	var taken []io.ReadCloser
	for _, store := range all {
		one, err := store.Snapshot(ctx)
		if err != nil {
			closeAll(taken)
			return nil, err
		}
		taken = append(taken, one)
	}
	return taken, nil
}

func closeAll(taken []io.ReadCloser) {
	for _, one := range taken {
		_ = one.Close()
	}
}

// save copies a snapshot to a new file.
func save(from io.ReadCloser, path string) error {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("save a snapshot: %w", err)
	}
	if _, err := io.Copy(to, from); err != nil {
		return errors.Join(fmt.Errorf("save a snapshot: %w", err), to.Close())
	}
	return to.Close()
}

// RestoreStores makes the data stores in dir, where the keys of the installation are already, of the files that SaveStores has made.
func (*Engine) RestoreStores(dir, from string) error {
	all, err := stores(dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		if err := datastore.Restore(e.member, e.snapshotFile(from), filepath.Join(dir, e.folder)); err != nil {
			return fmt.Errorf("restore the data of %s: %w", e.workload, err)
		}
	}
	return nil
}
