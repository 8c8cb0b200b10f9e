//go:build linux

package standalone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// Ports of an etcd workload.
const (
	portClient = "client"
	portPeer   = "peer"
	portHTTP   = "http"
)

// Folders of data in the data directory.
const (
	storeFolder      = "etcd"
	adminStoreFolder = "etcd-admin"
)

// storeLimits are those of etcd: all control planes wait for it, and it must not be ended for the memory that tenants have it
// take.
var storeLimits = confine.Limits{Weight: 1000, Tasks: 4096}

// storeGrace is how long etcd may take to end. Asked to, it closes its port and waits seven seconds for watches, which API servers
// never end; what it has acknowledged is on the disk.
const storeGrace = time.Second

// etcd is one that the engine runs.
type etcd struct {
	workload string
	member   string
	folder   string // of its data, in the data directory
	keys     pki.Bundle
	endpoint string // once it was described
}

// apart says whether the admin plane has an etcd of its own, which tenants can neither fill nor slow down, and whether the
// data of that are lost. What was installed when it had none goes on with one for all: where its objects are is where it finds
// them. keys and data are those of the etcd of its own, shared is data of the other, which begins after it. It is pure.
func apart(keys, data, shared bool) (alone, lost bool) {
	return keys || data || !shared, keys && !data && shared
}

// member is what etcd makes first in its folder.
const member = "member"

// has says whether something is in a folder of the data directory.
func (u *bringUp) has(folder, name string) (bool, error) {
	_, err := os.Stat(filepath.Join(u.Dir, folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// store runs etcd for tenants and for the admin plane, turns authentication on and gives the admin plane its keyspace.
func (u *bringUp) store(ctx context.Context) error {
	tenants := &etcd{workload: WorkloadStore, member: "default", folder: storeFolder, keys: u.storeKeys}
	u.adminStore = tenants
	if u.adminStoreKeys != nil {
		u.adminStore = &etcd{workload: WorkloadAdminStore, member: "admin", folder: adminStoreFolder, keys: u.adminStoreKeys}
	}
	begun, err := u.has(u.adminStore.folder, member)
	if err != nil {
		return fmt.Errorf("look for the data of the admin plane: %w", err)
	}
	all := slices.Compact([]*etcd{u.adminStore, tenants})
	for _, e := range all {
		if err := u.start(ctx, e); err != nil {
			return err
		}
		// The first time one after the other, so that data of tenants alone mean that those of the admin plane are lost.
		if begun {
			continue
		}
		if err := u.wait(ctx, e.workload); err != nil {
			return err
		}
	}
	for _, e := range all {
		if err := u.secure(ctx, e); err != nil {
			return err
		}
	}
	u.credentials = engine.Store{Endpoint: tenants.endpoint, Keys: tenants.keys}
	return nil
}

func (u *bringUp) start(ctx context.Context, e *etcd) error {
	place, err := u.Supervisor.Reserve(ctx, e.workload, []string{portClient, portPeer, portHTTP})
	if err != nil {
		return fmt.Errorf("reserve the ports of %s: %w", e.workload, err)
	}
	e.endpoint = endpoint(place.Port[portClient])
	workload, err := u.describeStore(e, place)
	if err != nil {
		return err
	}
	if err := u.Supervisor.Apply(ctx, workload); err != nil {
		return fmt.Errorf("start %s: %w", e.workload, err)
	}
	return nil
}

// secure waits for an etcd, and prepares it for its users.
func (u *bringUp) secure(ctx context.Context, e *etcd) error {
	if err := u.wait(ctx, e.workload); err != nil {
		return err
	}
	store, err := e.open(ctx)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", e.workload, err)
	}
	err = store.Secure(ctx)
	if err == nil && e == u.adminStore {
		err = store.Ensure(ctx, datastore.AdminKeyspace(), datastore.ReadWrite)
	}
	if err == nil {
		err = u.noteCluster(ctx, e.folder, store)
	}
	return errors.Join(err, store.Close())
}

func (u *bringUp) describeStore(e *etcd, place supervise.Place) (supervise.Workload, error) {
	file, data := func(name string) string { return filepath.Join(place.Dir, name) }, filepath.Join(u.Dir, e.folder)
	args, err := datastore.ServerArgs(datastore.ServerConfig{
		Name: e.member, DataDir: data,
		ClientPort: place.Port[portClient], PeerPort: place.Port[portPeer], HTTPPort: place.Port[portHTTP],
		CertFile: file("server.crt"), KeyFile: file("server.key"), ClientCAFile: file("ca.crt"),
		PeerCertFile: file("peer.crt"), PeerKeyFile: file("peer.key"), PeerCAFile: file("peer-ca.crt"),
	})
	if err != nil {
		return supervise.Workload{}, err
	}
	files := map[string]supervise.File{}
	for _, name := range []string{"ca.crt", "server.crt", "server.key", "peer-ca.crt", "peer.crt", "peer.key"} {
		files[name] = supervise.File{Data: e.keys[name]}
	}
	return supervise.Workload{
		ID: e.workload, Files: files, Confined: true, Limits: storeLimits, Score: confine.ScoreKept, Management: e == u.adminStore,
		Components: []supervise.Component{{
			Name:      "etcd",
			Path:      u.Program,
			Build:     datastore.Build(),
			Args:      append([]string{"etcd"}, args...),
			Ports:     []string{portClient, portPeer, portHTTP},
			Writes:    []string{data},
			StopGrace: storeGrace, LatencySensitive: true,
			Probe: &supervise.Probe{
				URL:    endpoint(place.Port[portHTTP]) + "/readyz",
				CAFile: "ca.crt", CertFile: "server.crt", KeyFile: "server.key",
			},
		}},
	}, nil
}

// open connects to an etcd as its administrator.
func (e *etcd) open(ctx context.Context) (*datastore.Store, error) {
	root, err := datastore.RootTLS(e.keys["ca.crt"], e.keys["root.crt"], e.keys["root.key"])
	if err != nil {
		return nil, err
	}
	return datastore.Open(ctx, datastore.Config{Endpoints: []string{e.endpoint}, TLS: root})
}

// maintain gives back what deleted objects took, and has an etcd that was full take writes again. No DataStore is about
// the one of the admin plane's own.
func (e *etcd) maintain(ctx context.Context) (datastore.Maintenance, error) {
	store, err := e.open(ctx)
	if err != nil {
		return datastore.Maintenance{}, fmt.Errorf("connect to %s: %w", e.workload, err)
	}
	done, err := store.Maintain(ctx)
	return done, errors.Join(err, store.Close())
}
