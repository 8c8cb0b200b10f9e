//go:build linux

package app

import (
	"context"
	"iter"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/upgrade"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

// maxCalledAPIs is how many deprecated APIs of a cluster are looked at.
const maxCalledAPIs = 256

// upgrades is what upgrades look at clusters with.
func upgrades(by *connection.Connections, stores *controlplane.DataStores, store *inventory.Store) upgrade.Config {
	open := reach(by)
	c := upgrade.Config{Stored: func(ctx context.Context, cp *v1alpha1.ControlPlane) (iter.Seq2[datastore.Entry, error], error) {
		state, err := stores.State(ctx, cp)
		return state.Entries(ctx, nil), err
	}, Read: func(ctx context.Context, c *v1alpha1.Cluster) (upgrade.Seen, error) {
		reader, err := open(ctx, c, upgrade.Bounds())
		if err != nil {
			return upgrade.Seen{}, err
		}
		defer reader.Close()
		return upgrade.Read(ctx, reader)
	}}
	if store != nil {
		c.Called = func(ctx context.Context, c *v1alpha1.Cluster) ([]upgrade.API, error) {
			return calledAPIs(ctx, store, c)
		}
	}
	return c
}

// calledAPIs are the deprecated APIs that clients of a cluster call, as they were observed.
func calledAPIs(ctx context.Context, store *inventory.Store, c *v1alpha1.Cluster) ([]upgrade.API, error) {
	organization, _ := v1alpha1.OrganizationOf(c.Namespace)
	page, err := store.Items(ctx, inventory.KindAPI, inventory.Filter{
		Scope: inventory.Scope{Organizations: []string{organization}}, Clusters: []string{c.Name}, Limit: maxCalledAPIs,
	})
	if err != nil {
		return nil, err
	}
	var all []upgrade.API
	for _, row := range page.Rows {
		if row.ClusterUID == string(c.UID) && row.Item.API != nil {
			all = append(all, calledAPI(row.Item.Key.Name, row.Item.API.RemovedIn))
		}
	}
	return all, nil
}

// calledAPI reads "GROUP/VERSION/RESOURCE", where the group of the core API is called core. It is pure.
func calledAPI(name, removedIn string) upgrade.API {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return upgrade.API{Resource: name, RemovedIn: removedIn}
	}
	if parts[0] == "core" {
		parts[0] = ""
	}
	return upgrade.API{Group: parts[0], Version: parts[1], Resource: parts[2], RemovedIn: removedIn}
}

// dryRun answers what an upgrade would be.
func dryRun(mgr ctrl.Manager, c upgrade.Config) func(context.Context, *v1alpha1.Upgrade) (*v1alpha1.UpgradeStatus, error) {
	c.Client, c.Reader, c.Now = mgr.GetClient(), mgr.GetAPIReader(), time.Now
	return func(ctx context.Context, u *v1alpha1.Upgrade) (*v1alpha1.UpgradeStatus, error) {
		return upgrade.DryRun(ctx, c, u)
	}
}
