// Package backupstore opens what BackupStores hold: the folders of clusters and of logs of changes, with the keys that protect them.
//
// It hides where the keys and the credentials of a store are and where in it a folder is. The reconcilers of backups and of their schedules use it.
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
	// Bucket opens a folder of a store.
	Bucket func(at Place, folder string) (Bucket, error)
}

// Place is where a store is: a directory, or a bucket of an S3 server, which takes the credentials.
type Place struct {
	Directory   string
	S3          *v1alpha1.BackupStoreS3
	Credentials map[string][]byte
}

// Opened is a bucket with the keys of its store.
type Opened struct {
	Bucket
	Keys archive.Keys
}

// ErrNoKeys says that the Secret with a store's keys is gone or cannot be used.
var ErrNoKeys = errors.New("the keys of the store cannot be used")

// ErrNoCredentials says that the S3 server of a store cannot be asked, because KQueen has nothing to prove itself with.
var ErrNoCredentials = errors.New("it has no credentials")

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

// Place says where a store is, with the credentials that it takes.
func (s Stores) Place(ctx context.Context, store *v1alpha1.BackupStore) (Place, error) {
	if store.Spec.S3 == nil {
		return Place{Directory: store.Spec.Directory}, nil
	}
	secret := &corev1.Secret{}
	err := s.Secrets.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: store.CredentialsSecret()}, secret)
	missing := len(secret.Data[v1alpha1.BackupStoreAccessKeyID]) == 0 || len(secret.Data[v1alpha1.BackupStoreSecretAccessKey]) == 0
	if apierrors.IsNotFound(err) || err == nil && missing {
		return Place{}, fmt.Errorf("backup store %s: %w yet; an administrator sets them with: kqueen backupstore credentials set %s <FILE",
			store.Name, ErrNoCredentials, store.Name)
	}
	if err != nil {
		return Place{}, fmt.Errorf("read the credentials of backup store %s: %w", store.Name, err)
	}
	return Place{S3: store.Spec.S3.DeepCopy(), Credentials: secret.Data}, nil
}

// Folder opens a folder of a namespace in a store, without the keys that protect what is there. The caller closes it.
func (s Stores) Folder(ctx context.Context, store *v1alpha1.BackupStore, namespace, folder string) (Bucket, error) {
	at, err := s.Place(ctx, store)
	if err != nil {
		return nil, err
	}
	return s.Bucket(at, FolderOf(namespace, folder))
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
	bucket, err := s.Folder(ctx, store, namespace, folder)
	if err != nil {
		return Opened{}, err
	}
	return Opened{bucket, keys}, nil
}

// FolderOf is the folder of a cluster's backups, or of a log, in a store.
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
