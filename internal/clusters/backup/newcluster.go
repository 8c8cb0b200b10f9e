package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
)

// newClusters are the steps of restores that create a cluster. Its control plane stands still from its creation until all is written: its API
// server has never seen an empty store.
type newClusters struct{ *restores }

// endingNew says what came of it. It is pure.
func endingNew(rs *v1alpha1.Restore) string {
	c := rs.Status.Changes
	counts := fmt.Sprintf("%d objects as they were, %d without what they say of the other cluster; it does not get %d", c.Added, c.Changed, c.Removed)
	if rs.Spec.CompareOnly {
		return "cluster " + rs.Spec.NewClusterName + " would have " + counts
	}
	return "cluster " + rs.Spec.NewClusterName + " has " + counts
}

// examine says whether there could be such a cluster, and reads all of the backup as it is written later.
func (n *newClusters) examine(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
	const whole = "all of the backup was read and is what was written, and the new cluster may be created"
	if apimeta.IsStatusConditionTrue(rs.Status.Conditions, v1alpha1.ConditionBackupWhole) {
		return operator.Done(v1alpha1.ReasonRestoreDone, whole)
	}
	b, refused := n.backupOf(ctx, rs, rs.Spec.BackupName)
	if refused != nil {
		return *refused
	}
	if !b.DeletionTimestamp.IsZero() {
		return operator.Stalled(v1alpha1.ReasonRestoreRefused, "spec.backupName: backup %s is being deleted", b.Name)
	}
	if problem := fits(b.Status.Version, versionOf(rs, b)); problem != "" {
		return operator.Stalled(v1alpha1.ReasonRestoreRefused, "spec.newClusterVersion: %s", problem)
	}
	changes, pending := jobs.Run(n.jobs, restoreAct(rs, b, "examine", v1alpha1.ReasonRestoreReading, "the backup is being read"), rs, func(ctx context.Context, rs *v1alpha1.Restore) (*v1alpha1.RestoreChanges, error) {
		return n.rehearse(ctx, rs, b)
	})
	if pending != nil {
		return *pending
	}
	if rs.Spec.CompareOnly {
		rs.Status.Changes = changes
	}
	return operator.Done(v1alpha1.ReasonRestoreDone, whole)
}

// versionOf is that of the new cluster. It is pure.
func versionOf(rs *v1alpha1.Restore, b *v1alpha1.Backup) string {
	return cmp.Or(rs.Spec.NewClusterVersion, b.Status.Version)
}

// rehearse does all but writing, and says what the new cluster would get.
func (n *newClusters) rehearse(ctx context.Context, rs *v1alpha1.Restore, b *v1alpha1.Backup) (changes *v1alpha1.RestoreChanges, err error) {
	opened, o, closed, err := n.openOrigin(ctx, b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closed()) }()
	// Where the run that has created it could not say so, the name is not taken.
	made, err := n.made(ctx, rs)
	if err != nil {
		return nil, err
	}
	if made == nil {
		// All that admission refuses is refused here, such as a name that is taken, a version that is not there, and what the quota has not.
		if err := refusal(n.Client.Create(ctx, newCluster(rs, o, versionOf(rs, b)), client.DryRunAll)); err != nil {
			return nil, err
		}
	}
	carrier, err := carrierOf(ctx, opened, o, o.Keys)
	if err != nil {
		return nil, err
	}
	changes = &v1alpha1.RestoreChanges{}
	for _, err := range carrier.all(ctx, toStore(opened.Entries(ctx)), changes) {
		if err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// newCluster is what is created.
func newCluster(rs *v1alpha1.Restore, o *origin, version string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: rs.Namespace, Name: rs.Spec.NewClusterName, Labels: map[string]string{v1alpha1.LabelRestore: string(rs.UID)}},
		Spec:       o.newSpec(version),
	}
}

// refusal tells an answer that trying again does not mend from others.
func refusal(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err):
		return jobs.Refuse(v1alpha1.ReasonRestoreRefused, "spec.newClusterName: there is a cluster of that name already; choose another name")
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return jobs.Refuse(v1alpha1.ReasonRestoreRefused, "the new cluster is refused: %v", err)
	}
	return fmt.Errorf("create the new cluster: %w", err)
}

// carrierOf is what carries a backup to a cluster with these keys.
func carrierOf(ctx context.Context, opened *archive.Backup, o *origin, keys map[string][]byte) (carrier, error) {
	from, err := ciphered(o.Keys)
	if err != nil {
		return carrier{}, err
	}
	to, err := ciphered(keys)
	if err != nil {
		return carrier{}, err
	}
	volumes, err := kept(toStore(opened.Entries(ctx)))
	return carrier{from, to, volumes}, err
}

// create makes the cluster, and waits until there is a place for what it stores.
func (n *newClusters) create(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
	if rs.Spec.CompareOnly {
		return operator.Done(v1alpha1.ReasonRestoreDone, "a comparison creates nothing")
	}
	if rs.Status.WrittenTime != nil {
		return operator.Done(v1alpha1.ReasonRestoreDone, "the control plane stood still while the state was written")
	}
	b, refused := n.backupOf(ctx, rs, rs.Spec.BackupName)
	if refused != nil {
		return *refused
	}
	cluster, err := n.made(ctx, rs)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRestoreFailed, err)
	}
	if cluster == nil && rs.Status.NewClusterUID != "" {
		return gone(rs)
	}
	if cluster == nil {
		act := restoreAct(rs, b, "create", v1alpha1.ReasonRestoreCreating, "cluster "+rs.Spec.NewClusterName+" is being created")
		o, pending := jobs.Run(n.jobs, act, rs, func(ctx context.Context, _ *v1alpha1.Restore) (*origin, error) { return n.readOrigin(ctx, b) })
		if pending != nil {
			return *pending
		}
		// Not beside the reconciler: a restore that is deleted has to know what it has made.
		cluster = newCluster(rs, o, versionOf(rs, b))
		err := refusal(n.Client.Create(ctx, cluster))
		if refused, is := errors.AsType[*jobs.RefusalError](err); is {
			return operator.Stalled(refused.Reason, "%s", refused.Message)
		}
		if err != nil {
			return operator.Retry(v1alpha1.ReasonRestoreFailed, err)
		}
	}
	rs.Status.NewClusterUID = string(cluster.UID)
	cp, err := backupstore.ControlPlaneOf(ctx, n.Secrets, rs.Namespace, cluster.Name, string(cluster.UID))
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRestoreFailed, err)
	}
	if cp == nil || !standsStill(rs, cp) {
		return operator.Wait(v1alpha1.ReasonRestoreCreating, "waiting for the place of cluster "+cluster.Name+" in the data store", claimRetry)
	}
	return operator.Done(v1alpha1.ReasonRestoreDone, "cluster "+cluster.Name+" is created, and its control plane stands still")
}

// standsStill says whether a control plane has a place for what it stores, and waits for this restore to write it. It is pure.
func standsStill(rs *v1alpha1.Restore, cp *v1alpha1.ControlPlane) bool {
	uid := string(rs.UID)
	return cp.Spec.StoppedFor == uid && cp.Status.StoppedFor == uid && apimeta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionStoreReady)
}

// gone says that the new cluster was deleted by a user.
func gone(rs *v1alpha1.Restore) operator.Outcome {
	return operator.Stalled(v1alpha1.ReasonRestoreRefused, "spec.newClusterName: cluster %s was deleted before all was written; delete the restore, and create another one", rs.Spec.NewClusterName)
}

// made is the cluster that this restore has created; nil where there is none, or another one of that name.
func (n *newClusters) made(ctx context.Context, rs *v1alpha1.Restore) (*v1alpha1.Cluster, error) {
	c := &v1alpha1.Cluster{}
	// Without a cache, which may not have seen what the run before this one has made.
	err := n.Secrets.Get(ctx, client.ObjectKey{Namespace: rs.Namespace, Name: rs.Spec.NewClusterName}, c)
	if err != nil {
		return nil, absent("read cluster "+rs.Spec.NewClusterName, err)
	}
	other := rs.Status.NewClusterUID != "" && string(c.UID) != rs.Status.NewClusterUID
	if c.Labels[v1alpha1.LabelRestore] != string(rs.UID) || other {
		return nil, nil //nolint:nilnil // there is none
	}
	return c, nil
}

// readOrigin reads what the cluster is made with.
func (n *newClusters) readOrigin(ctx context.Context, b *v1alpha1.Backup) (*origin, error) {
	_, o, closed, err := n.openOrigin(ctx, b)
	if err != nil {
		return nil, err
	}
	return o, closed()
}

// save has nothing to do: before a new cluster there is none.
func (n *newClusters) save(context.Context, *v1alpha1.Restore) operator.Outcome {
	return operator.Done(v1alpha1.ReasonRestoreDone, "a new cluster has no state before")
}
