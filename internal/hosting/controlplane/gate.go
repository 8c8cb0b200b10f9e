package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/storegate"
)

// Gate stands before a data store: API servers call it, and it calls the store as each of them.
type Gate struct {
	Endpoint string
	// CA is what the gate's certificate is checked against, in PEM.
	CA []byte
	// Signers holds the authority of API servers' certificates under the name of a store's.
	Signers pki.Bundle
	Tenants GateTenants
	// Usage is what the gate tells: how many bytes tenants hold, and how much is left for all.
	Usage func() (storegate.Usage, error)
}

// ErrGateNotReady says that a gate is to stand before a data store, and does not yet. What needs the store waits for it: calls that went past
// the gate would see other tenants' leases, and their writes would not be counted.
var ErrGateNotReady = errors.New("the gate before the data store is not ready yet")

// Gates are what stands before data stores. They may come later than the control planes that need them.
type Gates interface {
	// Of returns the gate before a data store, of which one is begun when there is none; until that answers the error is
	// [ErrGateNotReady], and after Remove [ErrStoreNotFound]. It is nil where API servers call the store directly.
	Of(ctx context.Context, store *Store) (*Gate, error)
	// Tend begins the gate of a data store, or brings it to what the store is now.
	Tend(ctx context.Context, store *Store) error
	// Remove ends the gate of a DataStore that goes, for good: a caller whose cache still has the DataStore begins no other. It is idempotent.
	Remove(ctx context.Context, dataStore types.UID) error
	// Ready are those that stand now, by the names of their DataStores.
	Ready() map[string]*Gate
}

// FixedGates stand before anything asks for them, by the names of their DataStores.
type FixedGates map[string]*Gate

// Of implements [Gates].
func (g FixedGates) Of(_ context.Context, store *Store) (*Gate, error) { return g[store.Name], nil }

// Tend implements [Gates].
func (FixedGates) Tend(context.Context, *Store) error { return nil }

// Remove implements [Gates].
func (FixedGates) Remove(context.Context, types.UID) error { return nil }

// Ready implements [Gates].
func (g FixedGates) Ready() map[string]*Gate { return g }

// NewGate returns the gate at an endpoint. keys have its authority as "ca".
func NewGate(endpoint string, keys pki.Bundle, tenants GateTenants, usage func() (storegate.Usage, error)) *Gate {
	return &Gate{Endpoint: endpoint, CA: keys["ca.crt"], Signers: keys.Signer("ca", storeAuthority), Tenants: tenants, Usage: usage}
}

// GateTenants are what a gate follows. *storegate.Table offers it.
type GateTenants interface {
	Get(uid string) (storegate.Tenant, bool)
	Set(uid string, t storegate.Tenant, quota *int64) error
	SetQuota(group string, quota *int64) error
	Remove(uid string) error
}

// clientSigners is what signs the certificate with which an API server is known to its store, or to the gate before it.
func (r *reconciler) clientSigners(ctx context.Context, store *Store) (pki.Bundle, error) {
	gate, err := r.Gates.Of(ctx, store)
	if err != nil || gate == nil {
		return store.Signers, err
	}
	return gate.Signers, nil
}

// storeAccess is where an API server finds its keyspace.
func (r *reconciler) storeAccess(ctx context.Context, store *Store, keyspace datastore.Keyspace) (StoreAccess, error) {
	gate, err := r.Gates.Of(ctx, store)
	if err != nil || gate == nil {
		return StoreAccess{Endpoints: store.Endpoints, CA: store.CA, Keyspace: keyspace}, err
	}
	return StoreAccess{Endpoints: []string{gate.Endpoint}, CA: gate.CA, Keyspace: keyspace}, nil
}

// letThrough has the gate, where there is one, call the store as this control plane and under its organization's quota. It
// returns in how long that is to be renewed; zero for never.
func (r *reconciler) letThrough(ctx context.Context, cp *v1alpha1.ControlPlane, store *Store, keyspace datastore.Keyspace) (time.Duration, error) {
	gate, err := r.Gates.Of(ctx, store)
	if err != nil || gate == nil {
		return 0, err
	}
	set, err := pki.StoreUser(storeAuthority, keyspace.User())
	if err != nil {
		return 0, err
	}
	have := pki.Bundle{}
	if tenant, ok := gate.Tenants.Get(keyspace.UID()); ok {
		have["client.crt"], have["client.key"] = tenant.Certificate, tenant.Key
	}
	keys, _, err := pki.Issue(have, set, store.Signers, r.Now())
	if err != nil {
		return 0, fmt.Errorf("issue the store gate's certificate: %w", err)
	}
	due, err := pki.RenewAt(keys, set)
	if err != nil {
		return 0, err
	}
	quota, err := storeQuota(ctx, r.Client, cp.Namespace)
	if err != nil {
		return 0, err
	}
	if cp.IsCopy() {
		quota = nil
	}
	tenant := storegate.Tenant{Group: groupOf(cp), Certificate: keys["client.crt"], Key: keys["client.key"]}
	return max(due.Sub(r.Now()), time.Second), gate.Tenants.Set(keyspace.UID(), tenant, quotaBytes(quota))
}

// shutOut has the gate, where there is one, forget a control plane, before its user is gone: until then what it holds can be
// counted, and the quota of its organization is known.
func (r *reconciler) shutOut(ctx context.Context, store *Store, keyspace datastore.Keyspace) error {
	gate, err := r.Gates.Of(ctx, store)
	if err != nil || gate == nil {
		return err
	}
	return gate.Tenants.Remove(keyspace.UID())
}

func quotaBytes(q *resource.Quantity) *int64 {
	if q == nil {
		return nil
	}
	n := q.Value()
	return &n
}

// setupGateQuotas has gates follow the quotas of organizations. One that comes later hears of them with its tenants.
func setupGateQuotas(mgr ctrl.Manager, c Config) error {
	return ctrl.NewControllerManagedBy(mgr).Named("store-quota").For(&v1alpha1.Organization{}).Complete(reconcile.Func(
		func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, followQuota(ctx, c.Client, c.Gates, req.Name)
		}))
}

func followQuota(ctx context.Context, c client.Reader, gates Gates, organization string) error {
	namespace := v1alpha1.NamespacePrefix + organization
	quota, err := storeQuota(ctx, c, namespace)
	if err != nil {
		return err
	}
	for _, gate := range gates.Ready() {
		if err := gate.Tenants.SetQuota(namespace, quotaBytes(quota)); err != nil {
			return err
		}
	}
	return nil
}
