package backup

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/changelog"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
)

// shownChanges is how many changes a status names.
const shownChanges = 50

func (r *restores) now() metav1.Time { return metav1.NewTime(r.Now().Truncate(1e9)) }

// savedName is the name of the backup that a restore makes.
func savedName(rs *v1alpha1.Restore) string {
	return fmt.Sprintf("before-%.40s-%.8s", rs.Name, rs.UID)
}

// save backs up what the restore is about to change. The control plane stands still: no write comes between the two.
func (r *restores) save(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
	if rs.Spec.CompareOnly {
		return operator.Done(v1alpha1.ReasonRestoreDone, "a comparison changes nothing")
	}
	if rs.Status.WriteStartTime != nil {
		return operator.Done(v1alpha1.ReasonRestoreDone, "the state before the restore is in backup "+rs.Status.Saved)
	}
	b, _, refused := r.subject(ctx, rs, rs.Spec.BackupName)
	if refused != nil {
		return *refused
	}
	saved := &v1alpha1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: rs.Namespace, Name: savedName(rs), Labels: map[string]string{v1alpha1.LabelRestore: string(rs.UID)}},
		Spec:       v1alpha1.BackupSpec{ClusterName: b.Spec.ClusterName, StoreName: b.Spec.StoreName},
	}
	rs.Status.Saved = saved.Name
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(saved), saved)
	if apierrors.IsNotFound(err) {
		err = client.IgnoreAlreadyExists(r.Client.Create(ctx, saved))
	}
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRestoreFailed, fmt.Errorf("back up the state before the restore: %w", err))
	}
	if !saved.IsTaken() || saved.Labels[v1alpha1.LabelRestore] != string(rs.UID) {
		return operator.Wait(v1alpha1.ReasonRestoreSaving, "the state before the restore is being saved as backup "+saved.Name, claimRetry)
	}
	return operator.Done(v1alpha1.ReasonRestoreDone, "the state before the restore is in backup "+saved.Name)
}

// bring writes the state of the backup, or compares it.
func (r *restores) bring(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
	if rs.Status.WrittenTime != nil {
		return operator.Done(v1alpha1.ReasonRestoreDone, ending(rs))
	}
	b, cp, refused := r.subject(ctx, rs, rs.Spec.BackupName)
	if refused != nil {
		return *refused
	}
	if rs.Spec.CompareOnly {
		changes, pending := jobs.Run(r.jobs, restoreAct(rs, b, "compare", v1alpha1.ReasonRestoreReading, "the backup is being compared"), rs, func(ctx context.Context, rs *v1alpha1.Restore) (*v1alpha1.RestoreChanges, error) {
			return r.apply(ctx, rs, b, cp, false)
		})
		if pending != nil {
			return *pending
		}
		rs.Status.Changes = changes
		return operator.Done(v1alpha1.ReasonRestoreDone, ending(rs))
	}
	if rs.Status.WriteStartTime == nil {
		// Known before the first write: from then on only a whole state is started.
		now := r.now()
		rs.Status.WriteStartTime = &now
		return operator.Wait(v1alpha1.ReasonRestoreWriting, "the state of the backup is being written", atOnce)
	}
	changes, pending := jobs.Run(r.jobs, restoreAct(rs, b, "write", v1alpha1.ReasonRestoreWriting, "the state of the backup is being written"), rs, func(ctx context.Context, rs *v1alpha1.Restore) (*v1alpha1.RestoreChanges, error) {
		return r.rewrite(ctx, rs, b, cp)
	})
	if pending != nil {
		return *pending
	}
	// Known before the control plane starts: from then on nothing may be written again.
	now := r.now()
	rs.Status.Changes, rs.Status.WrittenTime = changes, &now
	return operator.Wait(v1alpha1.ReasonRestoreWriting, "the state of the backup is written", atOnce)
}

// takeBack writes the state before the restore again when the restore is deleted while it writes.
func (r *restores) takeBack(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
	if rs.Status.WriteStartTime == nil || rs.Status.WrittenTime != nil {
		return operator.Done(v1alpha1.ReasonIdle, "")
	}
	saved := &v1alpha1.Backup{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: rs.Namespace, Name: rs.Status.Saved}, saved); err != nil {
		return operator.Retry(v1alpha1.ReasonRestoreFailed, fmt.Errorf("read backup %s, of the state before the restore: %w", rs.Status.Saved, err))
	}
	cp, err := r.controlPlaneOf(ctx, saved.Namespace, saved.Spec.ClusterName, saved.Status.ClusterUID)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRestoreFailed, err)
	}
	if cp == nil || !cp.DeletionTimestamp.IsZero() { // with the cluster goes what was written
		return operator.Done(v1alpha1.ReasonIdle, "")
	}
	_, pending := jobs.Run(r.jobs, restoreAct(rs, saved, "take back", v1alpha1.ReasonRestoreWriting, "the state before the restore is being written again"), rs, func(ctx context.Context, rs *v1alpha1.Restore) (*v1alpha1.RestoreChanges, error) {
		return r.rewrite(ctx, rs, saved, cp)
	})
	if pending != nil {
		return *pending
	}
	now := r.now()
	rs.Status.WrittenTime = &now
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// unwritten says that a restore has not written its state yet, which it must not do again: the control plane may have started since. It asks
// without a cache, as the reconciler may not have heard that its own last status was stored.
func unwritten(ctx context.Context, direct client.Reader, rs *v1alpha1.Restore) error {
	now := &v1alpha1.Restore{}
	if err := direct.Get(ctx, client.ObjectKeyFromObject(rs), now); err != nil {
		return fmt.Errorf("read the restore: %w", err)
	}
	if now.UID != rs.UID || now.Status.WrittenTime != nil {
		return errors.New("the restore has written its state already, or is another one: nothing is written")
	}
	return nil
}

// rewrite writes a state when it is sure that the control plane stands still for this restore. It asks without a cache.
func (r *restores) rewrite(ctx context.Context, rs *v1alpha1.Restore, b *v1alpha1.Backup, cp *v1alpha1.ControlPlane) (*v1alpha1.RestoreChanges, error) {
	if err := unwritten(ctx, r.Secrets, rs); err != nil {
		return nil, err
	}
	now := &v1alpha1.ControlPlane{}
	if err := r.Secrets.Get(ctx, client.ObjectKeyFromObject(cp), now); err != nil {
		return nil, fmt.Errorf("read the control plane: %w", err)
	}
	if uid := string(rs.UID); now.UID != cp.UID || now.Spec.StoppedFor != uid || now.Status.StoppedFor != uid {
		return nil, errors.New("the control plane does not stand still for this restore: nothing was written")
	}
	return r.apply(ctx, rs, b, now, true)
}

// apply brings the keyspace, or the objects that are chosen, to the state of a backup, or only says what that would change.
func (r *restores) apply(ctx context.Context, rs *v1alpha1.Restore, b *v1alpha1.Backup, cp *v1alpha1.ControlPlane, write bool) (*v1alpha1.RestoreChanges, error) {
	opened, bucket, err := r.open(ctx, b)
	if err != nil {
		return nil, err
	}
	defer func() { _ = bucket.Close() }()
	if write { // whatever became of it since it was examined
		if foreign := changelog.Untrusted(opened.Trust, cp); foreign != "" {
			return nil, jobs.Refuse(v1alpha1.ReasonRestoreRefused, "the key %q was replaced meanwhile: nothing was written; delete the restore, and the control plane is started", foreign)
		}
		if err := opened.Verify(ctx); err != nil {
			return nil, err
		}
	}
	state, err := r.State(ctx, cp)
	if err != nil {
		return nil, err
	}
	stays, err := staysOf(rs)
	if err != nil {
		return nil, err
	}
	changes := &v1alpha1.RestoreChanges{}
	want, tell := toStore(opened.Entries(ctx)), func(c datastore.Change) { note(changes, c) }
	if !write {
		return changes, state.Compare(ctx, want, stays, tell)
	}
	return changes, state.Bring(ctx, datastore.LeftByRestores, want, stays, tell)
}

// staysOf says of each entry whether a restore leaves it as it is.
func staysOf(rs *v1alpha1.Restore) (func(datastore.Entry) bool, error) {
	chosen, err := selectionOf(rs.Spec.Include)
	return func(e datastore.Entry) bool { return Stays(e.Key) || !chosen.has(e) }, err
}

// note counts a change, and names the first ones.
func note(to *v1alpha1.RestoreChanges, c datastore.Change) {
	mark := ""
	switch c.Verb {
	case datastore.Added:
		mark = "+ "
		to.Added++
	case datastore.Changed:
		mark = "~ "
		to.Changed++
	case datastore.Removed:
		mark = "- "
		to.Removed++
	}
	if len(to.First) < shownChanges {
		to.First = append(to.First, mark+fmt.Sprintf("%.300s", c.Key))
	}
}
