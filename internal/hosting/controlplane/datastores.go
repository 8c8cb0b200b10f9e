package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
)

// ErrStoreNotFound says that there is no DataStore of that name.
var ErrStoreNotFound = errors.New("data store not found")

// CredentialsError says that the Secret with a data store's credentials cannot be used.
type CredentialsError struct{ Problem string }

func (e *CredentialsError) Error() string { return e.Problem }

// Keyspaces are what control planes, and backups of them, need of a data store. *datastore.Store offers it.
type Keyspaces interface {
	Ensure(ctx context.Context, k datastore.Keyspace, may datastore.Access) error
	Remove(ctx context.Context, k datastore.Keyspace) error
	Health(ctx context.Context) (datastore.Health, error)
	Maintain(ctx context.Context) (datastore.Maintenance, error)
	State(of datastore.Keyspace) datastore.State
}

// Store is an open data store.
type Store struct {
	Keyspaces
	// Name and UID are those of its DataStore.
	Name string
	UID  types.UID
	// Endpoints are the client URLs.
	Endpoints []string
	// Signers holds the authority of tenants' client certificates under the name storeAuthority.
	Signers pki.Bundle
	// CA is what the servers' certificates are checked against, in PEM.
	CA []byte
}

// storeAuthority is the name of a store's authority among the signers of a control plane's certificates.
const storeAuthority = "store-ca"

// DataStores keeps one connection per DataStore, made anew when its spec or its credentials change.
// It is safe for concurrent use.
type DataStores struct {
	client  client.Client
	secrets client.Reader
	mu      sync.Mutex // guards the map, never held during a call: a dead store must not hold up the others
	slots   map[types.UID]*slot
}

// slot is the place of one data store's connection.
type slot struct {
	mu     sync.Mutex
	conn   *connection // nil while there is none
	closed bool        // for good
}

// connection is an open store and what it was opened from.
type connection struct {
	store       *Store
	close       func() error
	endpoints   []string
	credentials map[string][]byte
}

// NewDataStores returns an empty pool. secrets reads without a cache: Secrets, and what the deletion of a store depends on.
func NewDataStores(c client.Client, secrets client.Reader) *DataStores {
	return &DataStores{client: c, secrets: secrets, slots: map[types.UID]*slot{}}
}

// State opens what a control plane stores.
func (d *DataStores) State(ctx context.Context, cp *v1alpha1.ControlPlane) (datastore.State, error) {
	keyspace, err := datastore.NewKeyspace(string(cp.UID))
	if err != nil {
		return datastore.State{}, err
	}
	store, err := d.Open(ctx, cp.Spec.DataStoreName)
	if err != nil {
		return datastore.State{}, fmt.Errorf("open data store %s: %w", cp.Spec.DataStoreName, err)
	}
	return store.State(keyspace), nil
}

// Open returns the data store of that name. ErrStoreNotFound, a *CredentialsError and a
// *datastore.VersionError say that trying again alone does not help.
func (d *DataStores) Open(ctx context.Context, name string) (*Store, error) {
	ds := &v1alpha1.DataStore{}
	err := d.client.Get(ctx, client.ObjectKey{Name: name}, ds)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%q: %w", name, ErrStoreNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read data store %s: %w", name, err)
	}
	secret, err := d.credentials(ctx, ds)
	if err != nil {
		return nil, err
	}
	slot := d.slot(ds.UID)
	// Opening happens under the slot's lock: another reconcile that wants this store would only open it again.
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if slot.closed {
		return nil, fmt.Errorf("%q: %w", name, ErrStoreNotFound)
	}
	if have := slot.conn; have != nil && slices.Equal(have.endpoints, ds.Spec.Endpoints) && maps.EqualFunc(have.credentials, secret, bytes.Equal) {
		return have.store, nil
	}
	// A tenant's phase may still be using the old connection; it then fails and is tried again.
	if err := slot.close(); err != nil {
		return nil, fmt.Errorf("close the old connection to data store %s: %w", name, err)
	}
	made, err := connect(ctx, ds.Spec.Endpoints, secret)
	if err != nil {
		return nil, fmt.Errorf("connect to data store %s: %w", name, err)
	}
	made.store.Name, made.store.UID = ds.Name, ds.UID
	slot.conn = made
	return made.store, nil
}

func (d *DataStores) slot(uid types.UID) *slot {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.slots[uid] == nil {
		d.slots[uid] = &slot{}
	}
	return d.slots[uid]
}

// close is called with the slot's lock held.
func (s *slot) close() error {
	if s.conn == nil {
		return nil
	}
	conn := s.conn
	s.conn = nil
	return conn.close()
}

// Forget closes the connection to a data store that goes. The slot stays: a caller whose cache still has the DataStore would open a
// connection that no caller closes.
func (d *DataStores) Forget(uid types.UID) error {
	slot := d.slot(uid)
	slot.mu.Lock()
	defer slot.mu.Unlock()
	slot.closed = true
	return slot.close()
}

func (d *DataStores) credentials(ctx context.Context, ds *v1alpha1.DataStore) (map[string][]byte, error) {
	ref := ds.Spec.CredentialsRef
	secret := &corev1.Secret{}
	err := d.secrets.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, &CredentialsError{fmt.Sprintf("spec.credentialsRef: there is no Secret %s/%s", ref.Namespace, ref.Name)}
	}
	if err != nil {
		return nil, fmt.Errorf("read the credentials of data store %s: %w", ds.Name, err)
	}
	return secret.Data, nil
}

// Keys of a data store's credentials.
const (
	credentialCA      = "ca.crt"
	credentialCAKey   = "ca.key"
	credentialRoot    = "root.crt"
	credentialRootKey = "root.key"
)

func connect(ctx context.Context, endpoints []string, secret map[string][]byte) (*connection, error) {
	root, err := datastore.RootTLS(secret[credentialCA], secret[credentialRoot], secret[credentialRootKey])
	if err != nil {
		return nil, &CredentialsError{"the credentials cannot be used: " + err.Error()}
	}
	store, err := datastore.Open(ctx, datastore.Config{Endpoints: endpoints, TLS: root})
	if err != nil {
		return nil, err
	}
	if err := store.Secure(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("turn on authentication: %w", err), store.Close())
	}
	authority := pki.Bundle{"ca.crt": secret[credentialCA], "ca.key": secret[credentialCAKey]}
	return &connection{
		store:       &Store{Keyspaces: store, Endpoints: endpoints, Signers: authority.Signer("ca", storeAuthority), CA: secret[credentialCA]},
		close:       store.Close,
		endpoints:   slices.Clone(endpoints),
		credentials: secret,
	}, nil
}
