package backup

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/hosting/atrest"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
)

// ciphered is the cipher of keys.
func ciphered(keys map[string][]byte) (atrest.Cipher, error) {
	c, err := atrest.NewCipher(keys)
	if err != nil {
		return c, fmt.Errorf("read the encryption key: %w", err)
	}
	return c, nil
}

// fill writes what the new cluster gets of the backup.
func (n *newClusters) fill(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
	if rs.Spec.CompareOnly || rs.Status.WrittenTime != nil {
		return operator.Done(v1alpha1.ReasonRestoreDone, endingNew(rs))
	}
	b, refused := n.backupOf(ctx, rs, rs.Spec.BackupName)
	if refused != nil {
		return *refused
	}
	cluster, err := n.made(ctx, rs)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRestoreFailed, err)
	}
	if cluster == nil || !cluster.DeletionTimestamp.IsZero() {
		return gone(rs)
	}
	if rs.Status.WriteStartTime == nil {
		now := n.now()
		rs.Status.WriteStartTime = &now
		return operator.Wait(v1alpha1.ReasonRestoreWriting, "the state of the backup is being written", atOnce)
	}
	changes, pending := jobs.Run(n.jobs, restoreAct(rs, b, "write", v1alpha1.ReasonRestoreWriting, "the state of the backup is being written"), rs, func(ctx context.Context, rs *v1alpha1.Restore) (*v1alpha1.RestoreChanges, error) {
		return n.write(ctx, rs, b)
	})
	if pending != nil {
		return *pending
	}
	// Known before the control plane starts: from then on nothing may be written again.
	now := n.now()
	rs.Status.Changes, rs.Status.WrittenTime = changes, &now
	return operator.Wait(v1alpha1.ReasonRestoreWriting, "the state of the backup is written", atOnce)
}

// plane is the control plane of the new cluster, when it stands still for this restore. It is asked for without a cache.
func (n *newClusters) plane(ctx context.Context, rs *v1alpha1.Restore) (*v1alpha1.ControlPlane, error) {
	cp, err := backupstore.ControlPlaneOf(ctx, n.Secrets, rs.Namespace, rs.Spec.NewClusterName, rs.Status.NewClusterUID)
	if err != nil {
		return nil, err
	}
	if cp == nil || !cp.DeletionTimestamp.IsZero() || !standsStill(rs, cp) {
		return nil, errors.New("the control plane of the new cluster does not stand still for this restore: nothing is written")
	}
	return cp, nil
}

// write writes it when it is sure that the control plane stands still for this restore.
func (n *newClusters) write(ctx context.Context, rs *v1alpha1.Restore, b *v1alpha1.Backup) (changes *v1alpha1.RestoreChanges, err error) {
	if err := unwritten(ctx, n.Secrets, rs); err != nil {
		return nil, err
	}
	cp, err := n.plane(ctx, rs)
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{}
	if err := n.Secrets.Get(ctx, client.ObjectKey{Namespace: cp.Namespace, Name: cp.KeysSecret()}, secret); err != nil {
		return nil, fmt.Errorf("read the encryption key of the new cluster: %w", err)
	}
	opened, o, closed, err := n.openOrigin(ctx, b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closed()) }()
	carrier, err := carrierOf(ctx, opened, o, atrest.Of(secret.Data))
	if err != nil {
		return nil, err
	}
	state, err := n.State(ctx, cp)
	if err != nil {
		return nil, err
	}
	space, err := state.Space(ctx, datastore.LeftByRestores)
	if err == nil && opened.Bytes*3/2 > space { // pages of an etcd are not full
		err = fmt.Errorf("%d bytes are to be written: %w", opened.Bytes, datastore.ErrNoSpace)
	}
	if err != nil {
		return nil, err
	}
	changes = &v1alpha1.RestoreChanges{}
	want := carrier.all(ctx, toStore(opened.Entries(ctx)), changes)
	if err := state.Bring(ctx, datastore.LeftByRestores, want, all, func(datastore.Change) {}); err != nil {
		return nil, err
	}
	return changes, n.sweep(ctx, rs, state)
}

// sweep removes what was written when the new cluster was deleted meanwhile: behind the removal of its keyspace it would stay for ever. Nothing
// of a control plane that is there is removed, whatever it does.
func (n *newClusters) sweep(ctx context.Context, rs *v1alpha1.Restore, state State) error {
	cp, err := backupstore.ControlPlaneOf(ctx, n.Secrets, rs.Namespace, rs.Spec.NewClusterName, rs.Status.NewClusterUID)
	if err != nil || cp != nil && cp.DeletionTimestamp.IsZero() {
		return err
	}
	none := func(func(datastore.Entry, error) bool) {}
	return errors.Join(errors.New("the new cluster was deleted: nothing of it is left"), state.Bring(ctx, 0, none, all, func(datastore.Change) {}))
}

// all has every entry written.
func all(datastore.Entry) bool { return false }

// serve starts the control plane.
func (n *newClusters) serve(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
	now := n.now()
	if rs.Spec.CompareOnly {
		rs.Status.CompletionTime = &now
		return operator.Done(v1alpha1.ReasonRestoreDone, endingNew(rs))
	}
	cluster, err := n.made(ctx, rs)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRestoreFailed, err)
	}
	if cluster == nil {
		return gone(rs)
	}
	cp, err := backupstore.ControlPlaneOf(ctx, n.Secrets, rs.Namespace, cluster.Name, string(cluster.UID))
	if err == nil && cp == nil {
		return gone(rs)
	}
	if err == nil {
		err = n.start(ctx, cp, string(rs.UID))
	}
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRestoreFailed, err)
	}
	if !apimeta.IsStatusConditionTrue(cluster.Status.Conditions, v1alpha1.ConditionReady) {
		return operator.Wait(v1alpha1.ReasonRestoreStarting, "the control plane of "+cluster.Name+" is being started", claimRetry)
	}
	rs.Status.CompletionTime = &now
	return operator.Done(v1alpha1.ReasonRestoreDone, endingNew(rs))
}

// takeBack removes the new cluster when the restore is deleted before all was written: half of a state is of use to no one.
func (n *newClusters) takeBack(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
	if rs.Status.WrittenTime != nil || rs.Spec.CompareOnly {
		return operator.Done(v1alpha1.ReasonIdle, "")
	}
	cluster, err := n.made(ctx, rs)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRestoreFailed, err)
	}
	if cluster == nil {
		return operator.Done(v1alpha1.ReasonIdle, "")
	}
	if cluster.DeletionTimestamp.IsZero() {
		err := n.Client.Delete(ctx, cluster, client.Preconditions{UID: ptr.To(cluster.UID)})
		if err != nil && !apierrors.IsNotFound(err) {
			return operator.Retry(v1alpha1.ReasonRestoreFailed, fmt.Errorf("remove the new cluster: %w", err))
		}
	}
	return operator.Wait(v1alpha1.ReasonRestoreCreating, "cluster "+cluster.Name+", which is not whole, is being removed", claimRetry)
}
