package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/clusters/changelog"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
)

const (
	// waitCheck is the longest time between two looks at what is waited for.
	waitCheck = 15 * time.Second
	// verifyEvery is how old the last look at all of a backup may become.
	verifyEvery = 7 * 24 * time.Hour
	// verifyRetry is the time after which a backup that is not whole is read again: the disk that it was on may come back.
	verifyRetry = time.Hour
	// atOnce has the next run come after the status was written.
	atOnce = time.Millisecond
)

// backups holds the phases of Backup.
type backups struct{ *world }

func (r *backups) reconciler() *operator.Reconciler[*v1alpha1.Backup] {
	return operator.New(operator.Config[*v1alpha1.Backup]{
		Client:    r.Client,
		Recorder:  r.Recorder,
		New:       func() *v1alpha1.Backup { return &v1alpha1.Backup{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/backup",
		Ready:     "the backup is whole and can be restored",
		Phases: []operator.Phase[*v1alpha1.Backup]{
			{Condition: v1alpha1.ConditionTaken, Ensure: r.take, Remove: r.remove},
			{Condition: v1alpha1.ConditionVerified, Ensure: r.verify},
		},
	})
}

// take writes the backup, once.
func (r *backups) take(ctx context.Context, b *v1alpha1.Backup) operator.Outcome {
	if b.IsTaken() {
		return operator.Done(v1alpha1.ReasonBackupTaken, "all of it is in store "+b.Spec.StoreName)
	}
	cp, refused := r.source(ctx, b)
	if refused != nil {
		return *refused
	}
	if refused := r.admit(ctx, b); refused != nil {
		return *refused
	}
	if b.Status.ClusterUID == "" {
		// Known before anything is written: by it the removal finds what was.
		b.Status.ClusterUID, b.Status.ControlPlaneUID = string(metav1.GetControllerOf(cp).UID), string(cp.UID)
		b.Status.Version = cp.Status.Version
		return operator.Wait(v1alpha1.ReasonBackupRunning, "the backup is being taken", atOnce)
	}
	if b.Spec.AsOfTime != nil && b.Spec.AsOfTime.After(r.Now()) {
		return operator.Stalled(v1alpha1.ReasonBackupRefused, "spec.asOfTime: %s is in the future", b.Spec.AsOfTime.UTC().Format(time.RFC3339))
	}
	written, pending := jobs.Run(r.jobs, actOf(b, "take", "the backup is being taken"), b, func(ctx context.Context, b *v1alpha1.Backup) (archive.Written, error) {
		if b.Spec.AsOfTime != nil {
			return r.writeMoment(ctx, b, cp)
		}
		return r.write(ctx, b, cp)
	})
	if pending != nil {
		return *pending
	}
	b.Status.Version = written.Version
	taken := metav1.NewTime(written.TakenAt)
	b.Status.Revision, b.Status.Objects, b.Status.Digest = written.Revision, written.Keys, written.Digest
	b.Status.Size, b.Status.NewSize = resource.NewQuantity(written.Bytes, resource.BinarySI), resource.NewQuantity(written.NewBytes, resource.BinarySI)
	b.Status.TakenTime, b.Status.VerifiedTime = &taken, &taken
	return operator.Done(v1alpha1.ReasonBackupTaken, "all of it is in store "+b.Spec.StoreName)
}

func actOf(b *v1alpha1.Backup, name, message string) jobs.Job {
	return jobs.Job{
		Of: string(b.UID), Name: name, Organization: b.Namespace, Alone: bucketOf(b),
		Running: v1alpha1.ReasonBackupRunning, Message: message, Failing: func(error) string { return v1alpha1.ReasonBackupFailed },
	}
}

// bucketOf names the bucket of a backup.
func bucketOf(b *v1alpha1.Backup) string {
	return b.Spec.StoreName + "/" + backupstore.FolderOf(b.Namespace, b.Status.ClusterUID)
}

// source finds the control plane that is backed up, or says why there is none.
func (r *backups) source(ctx context.Context, b *v1alpha1.Backup) (*v1alpha1.ControlPlane, *operator.Outcome) {
	refuse := func(o operator.Outcome) (*v1alpha1.ControlPlane, *operator.Outcome) { return nil, &o }
	cp, err := r.controlPlaneOf(ctx, b.Namespace, b.Spec.ClusterName, b.Status.ClusterUID)
	if err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonBackupFailed, err))
	}
	if cp == nil || b.Status.ControlPlaneUID != "" && string(cp.UID) != b.Status.ControlPlaneUID {
		return refuse(operator.Stalled(v1alpha1.ReasonBackupRefused, "spec.clusterName: there is no cluster %s whose control plane KQueen hosts", b.Spec.ClusterName))
	}
	if !apimeta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionInitialized) {
		return refuse(operator.Wait(v1alpha1.ReasonBackupRunning, "waiting for cluster "+b.Spec.ClusterName+", which is not initialized yet", waitCheck))
	}
	return cp, nil
}

// admit says why a backup may not be in its store, or nil.
func (r *backups) admit(ctx context.Context, b *v1alpha1.Backup) *operator.Outcome {
	refuse := func(o operator.Outcome) *operator.Outcome { return &o }
	store, err := r.stores().Named(ctx, b.Spec.StoreName)
	if err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonBackupFailed, err))
	}
	if !backupstore.Allows(store, b.Namespace) {
		return refuse(operator.Stalled(v1alpha1.ReasonBackupRefused, "spec.storeName: there is no BackupStore %s that this organization may use", b.Spec.StoreName))
	}
	if !backupstore.Usable(store) {
		return refuse(operator.Wait(v1alpha1.ReasonBackupRunning, "waiting for backup store "+store.Name+", which cannot be used now", waitCheck))
	}
	list := &v1alpha1.BackupList{}
	if err := r.Client.List(ctx, list, client.InNamespace(b.Namespace)); err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonBackupFailed, fmt.Errorf("list backups: %w", err)))
	}
	if n := before(list.Items, b); n >= allowed(store.Spec.MaxBackups, b) {
		return refuse(operator.Stalled(v1alpha1.ReasonBackupRefused, "the organization has %d backups in store %s and may have %d; delete some", n, store.Name, store.Spec.MaxBackups))
	}
	return nil
}

// before counts the backups of the same store that count before this one: those that are older, and of the same second the first by
// name. It is pure.
func before(all []v1alpha1.Backup, b *v1alpha1.Backup) int32 {
	n := int32(0)
	for i := range all {
		o := &all[i]
		older := o.CreationTimestamp.Before(&b.CreationTimestamp) || o.CreationTimestamp.Equal(&b.CreationTimestamp) && o.Name < b.Name
		if o.Spec.StoreName == b.Spec.StoreName && o.UID != b.UID && older {
			n++
		}
	}
	return n
}

// allowed is how many backups may be before this one. Those that restores make may be as many again: without them a control plane
// would stand still until a user has deleted another. It is pure.
func allowed(most int32, b *v1alpha1.Backup) int32 {
	if b.Labels[v1alpha1.LabelRestore] != "" {
		return 2 * most
	}
	return most
}

// write reads the keyspace into the archive.
func (r *backups) write(ctx context.Context, b *v1alpha1.Backup, cp *v1alpha1.ControlPlane) (archive.Written, error) {
	state, err := r.State(ctx, cp)
	if err != nil {
		return archive.Written{}, err
	}
	of, err := r.archiveOf(ctx, b)
	if err != nil {
		return archive.Written{}, err
	}
	of.about.Trust = changelog.TrustOf(cp)
	if of.about.Sealed, err = r.sealOrigin(ctx, b, cp, of.keys); err != nil {
		return archive.Written{}, errors.Join(err, of.bucket.Close())
	}
	revision := int64(0)
	written, err := archive.Write(ctx, of.bucket, of.keys, of.about, toArchive(state.Entries(ctx, &revision)), &revision, r.Now)
	return written, errors.Join(err, of.bucket.Close())
}

// verify reads all of the backup again when the last time is long ago.
func (r *backups) verify(ctx context.Context, b *v1alpha1.Backup) operator.Outcome {
	if due := b.Status.VerifiedTime.Add(verifyEvery).Sub(r.Now()); due > 0 {
		return operator.DoneUntil(v1alpha1.ReasonBackupVerified, "all of it was read, and is what was written", due)
	}
	look := actOf(b, "verify", "the backup is being read")
	look.Failing, look.Retry = damage, verifyRetry
	_, pending := jobs.Run(r.jobs, look, b, func(ctx context.Context, b *v1alpha1.Backup) (struct{}, error) {
		opened, bucket, err := r.open(ctx, b)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, errors.Join(opened.Verify(ctx), bucket.Close())
	})
	if pending != nil {
		return *pending
	}
	now := metav1.NewTime(r.Now())
	b.Status.VerifiedTime = &now
	return operator.DoneUntil(v1alpha1.ReasonBackupVerified, "all of it was read, and is what was written", verifyEvery)
}

// damage is the reason why a backup could not be verified. It is pure.
func damage(err error) string {
	if _, ok := errors.AsType[*archive.DamagedError](err); ok {
		return v1alpha1.ReasonBackupDamaged
	}
	return v1alpha1.ReasonBackupUnreadable
}

// remove removes the files, unless a restore needs them.
func (r *backups) remove(ctx context.Context, b *v1alpha1.Backup) operator.Outcome {
	list := &v1alpha1.RestoreList{}
	if err := r.Secrets.List(ctx, list, client.InNamespace(b.Namespace)); err != nil {
		return operator.Retry(v1alpha1.ReasonBackupInUse, fmt.Errorf("list restores: %w", err))
	}
	for i := range list.Items {
		if user := &list.Items[i]; user.Status.CompletionTime == nil && (user.Spec.BackupName == b.Name || user.Status.Saved == b.Name) && needs(user) {
			return operator.Wait(v1alpha1.ReasonBackupInUse, "restore "+user.Name+" needs it; it is removed when that has ended", waitCheck)
		}
	}
	store, err := r.stores().Named(ctx, b.Spec.StoreName)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonBackupFailed, err)
	}
	if b.Status.ClusterUID == "" || store == nil {
		return operator.Done(v1alpha1.ReasonIdle, "")
	}
	_, pending := jobs.Run(r.jobs, actOf(b, "remove", "the backup is being removed"), b, func(ctx context.Context, b *v1alpha1.Backup) (struct{}, error) {
		return struct{}{}, r.erase(ctx, b)
	})
	if pending != nil {
		return *pending
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// needs says whether a restore that has not ended still reads its backups. One that only waits, or creates a cluster, and is deleted does not.
// It is pure.
func needs(r *v1alpha1.Restore) bool {
	writes := r.Status.WriteStartTime != nil && r.Status.WrittenTime == nil
	return r.DeletionTimestamp.IsZero() || writes && r.Spec.NewClusterName == ""
}

// erase removes the files of a backup. Where the keys of the store are lost, it cannot be told which chunks others have: they stay.
func (r *backups) erase(ctx context.Context, b *v1alpha1.Backup) error {
	of, err := r.archiveOf(ctx, b)
	if errors.Is(err, backupstore.ErrNoKeys) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(archive.Remove(ctx, of.bucket, of.keys, string(b.UID)), of.bucket.Close())
}
