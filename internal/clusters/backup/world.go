package backup

import (
	"context"
	"errors"
	"iter"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/backupstore"
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

// Config is what the reconcilers are made of. All fields but Recorder and Background are required.
type Config struct {
	// Client of the admin plane, and Secrets a reader of it without a cache.
	Client  client.Client
	Secrets client.Reader
	// State opens what a control plane stores.
	State func(context.Context, *v1alpha1.ControlPlane) (State, error)
	// Bucket opens a folder of a store.
	Bucket func(at backupstore.Place, folder string) (backupstore.Bucket, error)
	// Look sees that a place is there and no other store's than the owner's, and says how many bytes may still be written there.
	Look func(ctx context.Context, at backupstore.Place, owner string) (int64, error)
	// Flush writes the changes that are recorded for a BackupSchedule of that UID and not written yet.
	Flush    func(ctx context.Context, schedule string) error
	Recorder events.EventRecorder
	Now      func() time.Time
	// Background has the programs of the control plane of that UID, and KQueen itself, make way for others for a time; nil where KQueen cannot.
	Background func(controlPlane string, long time.Duration)
}

// world is what the reconcilers share.
type world struct {
	Config
	jobs *jobs.Jobs
}

// stores are those that backups are kept in.
func (w *world) stores() backupstore.Stores {
	return backupstore.Stores{Client: w.Client, Secrets: w.Secrets, Bucket: w.Bucket}
}

// controlPlaneOf returns the control plane of a cluster, or nil where KQueen hosts none.
func (w *world) controlPlaneOf(ctx context.Context, namespace, cluster, clusterUID string) (*v1alpha1.ControlPlane, error) {
	return backupstore.ControlPlaneOf(ctx, w.Client, namespace, cluster, clusterUID)
}

// archived is a backup with what is needed to read or write it.
type archived struct {
	about  archive.About
	keys   archive.Keys
	bucket backupstore.Bucket
}

// archiveOf opens what belongs to a backup. The caller closes the bucket.
func (w *world) archiveOf(ctx context.Context, b *v1alpha1.Backup) (archived, error) {
	opened, err := w.stores().Open(ctx, b.Spec.StoreName, b.Namespace, b.Status.ClusterUID)
	if err != nil {
		return archived{}, err
	}
	organization, _ := v1alpha1.OrganizationOf(b.Namespace)
	about := archive.About{
		Backup: string(b.UID), Cluster: b.Status.ClusterUID, ControlPlane: b.Status.ControlPlaneUID,
		Organization: organization, Name: b.Spec.ClusterName, Version: b.Status.Version,
	}
	return archived{about, opened.Keys, opened.Bucket}, nil
}

// open reads the manifest of a backup. The caller closes the bucket.
func (w *world) open(ctx context.Context, b *v1alpha1.Backup) (*archive.Backup, backupstore.Bucket, error) {
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
