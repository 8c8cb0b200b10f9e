package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/jobs"
)

// State reads and writes what is in one keyspace. datastore.State offers it.
type State interface {
	Entries(ctx context.Context, revision *int64) iter.Seq2[datastore.Entry, error]
	Space(ctx context.Context, left int) (int64, error)
	Compare(ctx context.Context, want iter.Seq2[datastore.Entry, error], keep func(datastore.Entry) bool, tell func(datastore.Change)) error
	Bring(ctx context.Context, left int, want iter.Seq2[datastore.Entry, error], keep func(datastore.Entry) bool, tell func(datastore.Change)) error
}

// Bucket is one that is closed after use. *archive.Directory is one.
type Bucket interface {
	archive.Bucket
	io.Closer
}

// Config is what the reconcilers are made of. All fields but Recorder are required.
type Config struct {
	// Client of the admin plane, and Secrets a reader of it without a cache.
	Client  client.Client
	Secrets client.Reader
	// State opens what a control plane stores.
	State func(context.Context, *v1alpha1.ControlPlane) (State, error)
	// Bucket opens the folder of one cluster below the directory of a store.
	Bucket func(directory, folder string) (Bucket, error)
	// Free says how many bytes may still be written below a directory.
	Free     func(directory string) (int64, error)
	Recorder events.EventRecorder
	Now      func() time.Time
}

// world is what the reconcilers share.
type world struct {
	Config
	jobs *jobs.Jobs
}

// errNoKeys says that the Secret with a store's keys is gone or cannot be used.
var errNoKeys = errors.New("the keys of the store cannot be used")

// keysOf reads the keys of a store.
func (w *world) keysOf(ctx context.Context, store *v1alpha1.BackupStore) (archive.Keys, error) {
	secret := &corev1.Secret{}
	err := w.Secrets.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: store.KeysSecret()}, secret)
	if apierrors.IsNotFound(err) {
		return archive.Keys{}, fmt.Errorf("%w: the Secret %s/%s is gone", errNoKeys, v1alpha1.SystemNamespace, store.KeysSecret())
	}
	if err != nil {
		return archive.Keys{}, fmt.Errorf("read the keys of backup store %s: %w", store.Name, err)
	}
	keys, err := archive.ParseKeys(secret.Data, store.Spec.Recipients)
	if err != nil {
		return archive.Keys{}, fmt.Errorf("%w: %w", errNoKeys, err)
	}
	return keys, nil
}

// storeNamed reads a store, or nil when there is none.
func (w *world) storeNamed(ctx context.Context, name string) (*v1alpha1.BackupStore, error) {
	store := &v1alpha1.BackupStore{}
	err := w.Client.Get(ctx, client.ObjectKey{Name: name}, store)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	return store, err
}

// controlPlaneOf returns the control plane of a cluster, or nil where KQueen hosts none. clusterUID, when not empty, is that of the
// cluster that is meant.
func (w *world) controlPlaneOf(ctx context.Context, namespace, cluster, clusterUID string) (*v1alpha1.ControlPlane, error) {
	cp := &v1alpha1.ControlPlane{}
	err := w.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cluster}, cp)
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

// archived is a backup with what is needed to read or write it.
type archived struct {
	about  archive.About
	keys   archive.Keys
	bucket Bucket
}

// folderOf is the folder of a cluster's backups below the directory of a store.
func folderOf(namespace, clusterUID string) string { return namespace + "/" + clusterUID }

// archiveOf opens what belongs to a backup. The caller closes the bucket.
func (w *world) archiveOf(ctx context.Context, b *v1alpha1.Backup) (archived, error) {
	store, err := w.storeNamed(ctx, b.Spec.StoreName)
	if err != nil {
		return archived{}, err
	}
	if store == nil {
		return archived{}, fmt.Errorf("there is no BackupStore %s", b.Spec.StoreName)
	}
	keys, err := w.keysOf(ctx, store)
	if err != nil {
		return archived{}, err
	}
	bucket, err := w.Bucket(store.Spec.Directory, folderOf(b.Namespace, b.Status.ClusterUID))
	if err != nil {
		return archived{}, err
	}
	organization, _ := v1alpha1.OrganizationOf(b.Namespace)
	about := archive.About{
		Backup: string(b.UID), Cluster: b.Status.ClusterUID, ControlPlane: b.Status.ControlPlaneUID,
		Organization: organization, Name: b.Spec.ClusterName, Version: b.Status.Version,
	}
	return archived{about, keys, bucket}, nil
}

// open reads the manifest of a backup. The caller closes the bucket.
func (w *world) open(ctx context.Context, b *v1alpha1.Backup) (*archive.Backup, Bucket, error) {
	of, err := w.archiveOf(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	opened, err := archive.Open(ctx, of.bucket, of.keys, of.about, b.Status.Digest)
	if err != nil {
		return nil, nil, errors.Join(err, of.bucket.Close())
	}
	return opened, of.bucket, nil
}

// toArchive and toStore carry entries between the two, which do not know each other.
func toArchive(entries iter.Seq2[datastore.Entry, error]) iter.Seq2[archive.Entry, error] {
	return func(yield func(archive.Entry, error) bool) {
		for e, err := range entries {
			if !yield(archive.Entry(e), err) {
				return
			}
		}
	}
}

func toStore(entries iter.Seq2[archive.Entry, error]) iter.Seq2[datastore.Entry, error] {
	return func(yield func(datastore.Entry, error) bool) {
		for e, err := range entries {
			if !yield(datastore.Entry(e), err) {
				return
			}
		}
	}
}
