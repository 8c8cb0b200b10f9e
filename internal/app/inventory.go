//go:build linux

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/collector"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/clusters/tunnel"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/server/fleet"
)

// inventoryFile has what runs in clusters, in the data directory, where the database is a file: it grows with the clusters, and users
// who sign in do not wait for it.
const inventoryFile = "inventory.db"

const (
	// inventoryKept is how long it is known what ran.
	inventoryKept = 400 * 24 * time.Hour
	// pruneInterval is the time between two removals of what is older.
	pruneInterval = 6 * time.Hour
)

// openInventory opens the observation store, or leaves it nil: an installation goes on without it. All that is now in it is asked from
// the clusters again, so that one that is damaged is set aside.
func (d *apiServer) openInventory(ctx context.Context, a *App) {
	if a.Database != "" && databaseName(a.Config) != databaseFile {
		d.inventory = inventory.New(d.db, time.Now)
		if err := d.inventory.Migrate(ctx); err != nil {
			a.problems.note("inventory", fmt.Errorf("what runs in clusters is not kept (%w) until KQueen starts again", err))
			d.inventory = nil
		}
		return
	}
	path := filepath.Join(a.Dir, inventoryFile)
	store, db, err := openInventoryFile(ctx, path)
	if err != nil && ctx.Err() == nil {
		aside, moved := setInventoryAside(path)
		if moved == nil {
			store, db, moved = openInventoryFile(ctx, path)
		}
		problem := fmt.Errorf("%s was damaged (%w), and is %s now; what ran in clusters before is not known any more", path, err, aside)
		if moved != nil {
			problem = fmt.Errorf("what runs in clusters is not kept until KQueen starts again: %w", errors.Join(err, moved))
		}
		a.problems.note("inventory", problem)
		d.log.Error("the inventory is not as it was", "error", problem)
	}
	d.inventory, d.inventoryDB = store, db
}

func openInventoryFile(ctx context.Context, path string) (*inventory.Store, *database.DB, error) {
	db, err := database.Open(ctx, database.FileURL(path))
	if err != nil {
		return nil, nil, err
	}
	store := inventory.New(db, time.Now)
	if err := store.Migrate(ctx); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return store, db, nil
}

// setInventoryAside makes room for another file.
func setInventoryAside(path string) (string, error) {
	aside, err := atomicfile.SetAside(path)
	for _, journal := range []string{path + "-wal", path + "-shm"} {
		if removed := os.Remove(journal); err == nil && !errors.Is(removed, fs.ErrNotExist) {
			err = removed
		}
	}
	return aside, err
}

// asked is the store for the REST API; nil where nothing is kept.
func (d *apiServer) asked() *fleet.Store {
	if d.inventory == nil {
		return nil
	}
	return &fleet.Store{Rows: d.inventory, Comparisons: d.inventory}
}

// measured is what this process measures.
func (d *apiServer) measured(agents *tunnel.Sessions) (prometheus.Gatherer, error) {
	connected := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kqueen_agents_connected", Help: "Agents of clusters that are connected.",
	}, func() float64 { return float64(agents.Count()) })
	own := prometheus.NewRegistry()
	if err := own.Register(connected); err != nil {
		return nil, fmt.Errorf("register the measures of agents: %w", err)
	}
	all := prometheus.Gatherers{metrics.Registry, own}
	if d.collected != nil {
		all = append(all, d.collected)
	}
	return all, nil
}

// measure adds measures to those of this process.
func (d *apiServer) measure(what prometheus.Collector) error {
	if d.collected == nil {
		d.collected = prometheus.NewRegistry()
	}
	return d.collected.Register(what)
}

// addInventory has what runs in clusters collected, and what is too old removed.
func (d *apiServer) addInventory(mgr ctrl.Manager, a *App) error {
	if d.inventory == nil {
		return nil
	}
	connections := a.connections.Load()
	c := collector.New(collector.Config{
		Client: mgr.GetClient(), Store: d.inventory, Connect: connections.Config, Credential: credentialOf(connections),
		Hosted: hostedComponents(mgr.GetClient()), Known: d.inFleet, Now: time.Now, Log: a.Log.With("part", "inventory"),
	})
	if err := d.measure(c.Measures()); err != nil {
		return fmt.Errorf("register the measures of the inventory: %w", err)
	}
	if err := c.Setup(mgr); err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { d.prune(ctx); return nil }))
}

// credentialOf is what the collector knows a cluster's credential by.
func credentialOf(by *connection.Connections) func(context.Context, *v1alpha1.Cluster) (string, error) {
	return func(ctx context.Context, c *v1alpha1.Cluster) (string, error) {
		version, err := by.Version(ctx, c)
		if errors.Is(err, connection.ErrNoCredentials) {
			return "", collector.ErrNotReady
		}
		return version, err
	}
}

// reach is how clusters are asked for what belongs to what in them, and for their use.
func reach(by *connection.Connections) fleet.Reach {
	return func(ctx context.Context, c *v1alpha1.Cluster, within listing.Bounds) (*listing.Client, error) {
		config, err := by.Config(ctx, c)
		if errors.Is(err, connection.ErrNoCredentials) {
			return nil, fleet.ErrNotReady
		}
		if err != nil {
			return nil, err
		}
		return listing.New(config, within)
	}
}

// inFleet are the UIDs of the clusters that are in the store and have not left.
func (d *apiServer) inFleet(ctx context.Context) ([]string, error) {
	states, err := d.inventory.Clusters(ctx, inventory.Filter{Scope: inventory.Scope{All: true}})
	if err != nil {
		return nil, err
	}
	uids := make([]string, 0, len(states))
	for _, s := range states {
		uids = append(uids, s.UID)
	}
	return uids, nil
}

// prune removes what is too old, until ctx ends.
func (d *apiServer) prune(ctx context.Context) {
	again := time.NewTicker(pruneInterval)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		if err := d.inventory.Prune(ctx, time.Now().Add(-inventoryKept)); err != nil && ctx.Err() == nil {
			d.log.Error("remove what ran in clusters long ago", "error", err)
		}
	}
}

// hostedComponents says which programs KQueen runs for a cluster itself: no pod tells of them.
func hostedComponents(planes client.Reader) func(context.Context, *v1alpha1.Cluster) []inventory.Item {
	return func(ctx context.Context, c *v1alpha1.Cluster) []inventory.Item {
		plane := &v1alpha1.ControlPlane{}
		err := planes.Get(ctx, client.ObjectKeyFromObject(c), plane)
		if err != nil || plane.Status.Version == "" {
			return nil
		}
		var items []inventory.Item
		for part, version := range map[string]string{
			"kube-controller-manager": plane.Status.Version, "kube-scheduler": plane.Status.Version, "etcd": "v" + datastore.BuildVersion(),
		} {
			items = append(items, inventory.Item{
				Key: inventory.Key{Kind: inventory.KindComponent, Part: part}, Component: &inventory.Component{Version: version},
			})
		}
		return items
	}
}
