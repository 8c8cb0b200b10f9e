package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/operator"
)

const restoreField = "spec.restoreBackupName"

// restorable is an error when the backup that a rollback restores is none of the cluster, or not one that the version can have.
func restorable(ctx context.Context, from client.Reader, u *v1alpha1.Upgrade, s subject, to release.Version) error {
	name := u.Spec.RestoreBackupName
	if name == "" {
		return nil
	}
	b := &v1alpha1.Backup{}
	err := from.Get(ctx, client.ObjectKey{Namespace: u.Namespace, Name: name}, b)
	if apierrors.IsNotFound(err) {
		return invalid.New(restoreField, "there is no backup %s", name)
	}
	if err != nil {
		return fmt.Errorf("read backup %s: %w", name, err)
	}
	if problem := unsuited(b, s, to); problem != "" {
		return invalid.New(restoreField, "backup %s %s", name, problem)
	}
	return nil
}

// unsuited says why a backup cannot be restored in a rollback to a version, or nothing. It is pure.
func unsuited(b *v1alpha1.Backup, s subject, to release.Version) string {
	wrote, err := release.ParseVersion(b.Status.Version)
	switch {
	case b.Status.ClusterUID != string(s.cluster.UID) || b.Status.ControlPlaneUID != string(s.plane.UID):
		return "is not one of this cluster"
	case !b.IsTaken():
		return "is not complete"
	case !b.DeletionTimestamp.IsZero():
		return "is being deleted"
	case err != nil || wrote.MinorString() != to.MinorString():
		return fmt.Sprintf("is of %s; want one that was taken while the cluster had %s", cmp.Or(b.Status.Version, "an unknown version"), to.MinorString())
	}
	return ""
}

// restoreName is the name of the Restore of a step.
func restoreName(u *v1alpha1.Upgrade, kind string) string {
	prefix := "rollback"
	if kind == v1alpha1.StepComparison {
		prefix = "compare"
	}
	return fmt.Sprintf("%s-%.40s-%.8s", prefix, u.Name, u.UID)
}

// restorer takes the steps of a rollback that are Restores.
type restorer struct{ *reconciler }

// take has the backup of a rollback compared with the cluster, or restored, once.
func (r restorer) take(ctx context.Context, u *v1alpha1.Upgrade, at int) operator.Outcome {
	s := &u.Status.Steps[at]
	rs, err := r.ensure(ctx, u, s)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonUpgradeFailed, err)
	}
	if rs.Status.CompletionTime != nil {
		r.finish(u, s, v1alpha1.StepDone, changed(rs))
		return operator.Wait(v1alpha1.ReasonUpgradeRestoring, s.Message, atOnce)
	}
	message := "restore " + rs.Name + " goes on"
	if ready := apimeta.FindStatusCondition(rs.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Message != "" {
		message += ": " + ready.Message
	}
	r.hold(u, s, message, apimeta.IsStatusConditionTrue(rs.Status.Conditions, v1alpha1.ConditionStalled))
	return operator.Wait(v1alpha1.ReasonUpgradeRestoring, message, stepCheck)
}

// changed says what a restore has changed, or would. It is pure.
func changed(rs *v1alpha1.Restore) string {
	c := ptr.Deref(rs.Status.Changes, v1alpha1.RestoreChanges{})
	if rs.Spec.CompareOnly {
		return fmt.Sprintf("lost by the restore: %d objects created, %d changed and %d deleted since; restore %s names them", c.Removed, c.Changed, c.Added, rs.Name)
	}
	return fmt.Sprintf("%d objects created since are gone, %d changed are as they were, and %d deleted are back; the state before is in backup %s", c.Removed, c.Changed, c.Added, rs.Status.Saved)
}

// ensure returns the Restore of a step, which it creates where it is not there.
func (r restorer) ensure(ctx context.Context, u *v1alpha1.Upgrade, s *v1alpha1.UpgradeStep) (*v1alpha1.Restore, error) {
	rs := &v1alpha1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: s.Object, Labels: map[string]string{v1alpha1.LabelUpgrade: string(u.UID)}},
		Spec:       v1alpha1.RestoreSpec{BackupName: u.Spec.RestoreBackupName, CompareOnly: s.Kind == v1alpha1.StepComparison},
	}
	// Without a cache: one that was restored is not restored again.
	err := r.Reader.Get(ctx, client.ObjectKeyFromObject(rs), rs)
	if apierrors.IsNotFound(err) {
		err = client.IgnoreAlreadyExists(r.Client.Create(ctx, rs))
	}
	if err != nil {
		return nil, fmt.Errorf("restore backup %s: %w", u.Spec.RestoreBackupName, err)
	}
	if rs.Labels[v1alpha1.LabelUpgrade] != string(u.UID) {
		return nil, errors.New("restore backup " + u.Spec.RestoreBackupName + ": restore " + rs.Name + " is another one's; delete it")
	}
	return rs, nil
}

// end deletes the restore of an upgrade that is deleted meanwhile, which takes back what it has not finished. It says what it waits for.
func (r restorer) end(ctx context.Context, u *v1alpha1.Upgrade) (string, error) {
	for _, kind := range []string{v1alpha1.StepComparison, v1alpha1.StepRestore} {
		s := stepOf(u, kind)
		if s == nil || s.State == v1alpha1.StepPending || s.Ended() {
			continue
		}
		rs := &v1alpha1.Restore{}
		err := r.Reader.Get(ctx, client.ObjectKey{Namespace: u.Namespace, Name: s.Object}, rs)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("read restore %s: %w", s.Object, err)
		}
		if rs.Labels[v1alpha1.LabelUpgrade] != string(u.UID) || rs.Status.CompletionTime != nil {
			continue
		}
		if rs.DeletionTimestamp.IsZero() {
			if err := client.IgnoreNotFound(r.Client.Delete(ctx, rs, client.Preconditions{UID: ptr.To(rs.UID)})); err != nil {
				return "", fmt.Errorf("end restore %s: %w", rs.Name, err)
			}
		}
		return "restore " + rs.Name + " is being taken back", nil
	}
	return "", nil
}
