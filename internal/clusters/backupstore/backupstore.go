// Package backupstore opens what BackupStores hold: the folders of clusters and of logs of changes, with the keys that protect them.
//
// It hides where the keys of a store are and where in it a folder is. The reconcilers of backups and of their schedules use it.
package backupstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
)

// Bucket is one that is closed after use. *archive.Directory is one.
type Bucket interface {
	archive.Bucket
	io.Closer
}

// Stores are those of an installation. All fields are required.
type Stores struct {
	// Client of the admin plane, and Secrets a reader of it without a cache.
	Client  client.Client
	Secrets client.Reader
	// Bucket opens a folder below the directory of a store.
	Bucket func(directory, folder string) (Bucket, error)
}

// Opened is a bucket with the keys of its store.
type Opened struct {
	Bucket
	Keys archive.Keys
}

// ErrNoKeys says that the Secret with a store's keys is gone or cannot be used.
var ErrNoKeys = errors.New("the keys of the store cannot be used")

// ErrNotFound says that there is no such store.
var ErrNotFound = errors.New("there is no such BackupStore")

// Named reads a store, or nil when there is none.
func (s Stores) Named(ctx context.Context, name string) (*v1alpha1.BackupStore, error) {
	store := &v1alpha1.BackupStore{}
	err := s.Client.Get(ctx, client.ObjectKey{Name: name}, store)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	return store, err
}

// Keys reads the keys of a store.
func (s Stores) Keys(ctx context.Context, store *v1alpha1.BackupStore) (archive.Keys, error) {
	secret := &corev1.Secret{}
	err := s.Secrets.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: store.KeysSecret()}, secret)
	if apierrors.IsNotFound(err) {
		return archive.Keys{}, fmt.Errorf("%w: the Secret %s/%s is gone", ErrNoKeys, v1alpha1.SystemNamespace, store.KeysSecret())
	}
	if err != nil {
		return archive.Keys{}, fmt.Errorf("read the keys of backup store %s: %w", store.Name, err)
	}
	keys, err := archive.ParseKeys(secret.Data, store.Spec.Recipients)
	if err != nil {
		return archive.Keys{}, fmt.Errorf("%w: %w", ErrNoKeys, err)
	}
	return keys, nil
}

// Open opens a folder of a namespace in a store. The caller closes it.
func (s Stores) Open(ctx context.Context, name, namespace, folder string) (Opened, error) {
	store, err := s.Named(ctx, name)
	if err != nil {
		return Opened{}, err
	}
	if store == nil {
		return Opened{}, fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	keys, err := s.Keys(ctx, store)
	if err != nil {
		return Opened{}, err
	}
	bucket, err := s.Bucket(store.Spec.Directory, FolderOf(namespace, folder))
	if err != nil {
		return Opened{}, err
	}
	return Opened{bucket, keys}, nil
}

// FolderOf is the folder of a cluster's backups, or of a log, below the directory of a store.
func FolderOf(namespace, folder string) string { return namespace + "/" + folder }

// Allows says whether a store is there and may be used from a namespace. It is pure.
func Allows(store *v1alpha1.BackupStore, namespace string) bool {
	organization, _ := v1alpha1.OrganizationOf(namespace)
	return store != nil && (len(store.Spec.OrganizationNames) == 0 || slices.Contains(store.Spec.OrganizationNames, organization))
}

// Usable says whether a store can be written now. It is pure.
func Usable(store *v1alpha1.BackupStore) bool {
	return apimeta.IsStatusConditionTrue(store.Status.Conditions, v1alpha1.ConditionReady)
}

// ControlPlaneOf returns the control plane of a cluster, or nil where KQueen hosts none. clusterUID, when not empty, is that of the
// cluster that is meant.
func ControlPlaneOf(ctx context.Context, from client.Reader, namespace, cluster, clusterUID string) (*v1alpha1.ControlPlane, error) {
	cp := &v1alpha1.ControlPlane{}
	err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cluster}, cp)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("read the control plane of cluster %s: %w", cluster, err)
	}
	owner := metav1.GetControllerOf(cp)
	if owner == nil || owner.Kind != "Cluster" || owner.Name != cluster || clusterUID != "" && string(owner.UID) != clusterUID {
		return nil, nil //nolint:nilnil // it belongs to another one
	}
	return cp, nil
}
