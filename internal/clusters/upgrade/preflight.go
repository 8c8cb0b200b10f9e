package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/clusters/maintenance"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/text"
)

// lookAgain is the time between two looks at a cluster that something was found in.
const lookAgain = time.Minute

// backupStoreName is the store of the backups that upgrades make.
const backupStoreName = "default"

// preflight looks for what stands against the upgrade, again and again while there is something.
func (r *reconciler) preflight(ctx context.Context, u *v1alpha1.Upgrade) operator.Outcome {
	s := stepOf(u, v1alpha1.StepPreflight)
	if s == nil {
		return operator.Done(v1alpha1.ReasonUpgradeStepDone, "there is nothing to do")
	}
	if s.Ended() {
		return operator.Done(v1alpha1.ReasonUpgradeStepDone, passed(u))
	}
	if o := r.begin(u, s, v1alpha1.ReasonUpgradeChecking); o != nil {
		return *o
	}
	if !recent(u, r.Now()) {
		if o := r.look(ctx, u); o != nil {
			return *o
		}
	}
	if blocking := Blocking(u.Status.Findings, u.Spec.Ignore); len(blocking) > 0 {
		r.hold(u, s, sentence(blocking), true)
		if unread(blocking) {
			return operator.Retry(v1alpha1.ReasonUpgradeBlocked, errors.New(s.Message))
		}
		return operator.Stalled(v1alpha1.ReasonUpgradeBlocked, "%s; mend them, or name their checks in spec.ignore", s.Message)
	}
	r.finish(u, s, v1alpha1.StepDone, passed(u))
	return operator.Wait(v1alpha1.ReasonUpgradeChecking, s.Message, atOnce)
}

func passed(u *v1alpha1.Upgrade) string {
	n := len(u.Status.Findings) + int(u.Status.OmittedFindings)
	if n == 0 {
		return "nothing was found against the upgrade"
	}
	return "nothing was found that keeps the upgrade from going on; to be known: " + text.Count(n, "finding")
}

// recent says whether what was found last is not old, and was found in the cluster with the present spec. It is pure.
func recent(u *v1alpha1.Upgrade, now time.Time) bool {
	at := u.Status.CheckedTime
	return at != nil && u.Status.ObservedGeneration == u.Generation && now.Sub(at.Time) < lookAgain && !unread(u.Status.Findings)
}

// unread says whether findings say that the cluster could not be looked at, which may pass within seconds. It is pure.
func unread(findings []v1alpha1.UpgradeFinding) bool {
	return slices.ContainsFunc(findings, func(f v1alpha1.UpgradeFinding) bool {
		return f.Check == v1alpha1.CheckClusterReadable && f.Severity == v1alpha1.SeverityBlocks
	})
}

// look reads what there is, and notes what was found.
func (r *reconciler) look(ctx context.Context, u *v1alpha1.Upgrade) *operator.Outcome {
	wait := func(o operator.Outcome) *operator.Outcome { return &o }
	s, refused := r.subject(ctx, u)
	if refused != nil {
		return refused
	}
	leave := r.looks.Take(u.Namespace)
	if leave == nil {
		return wait(operator.Wait(v1alpha1.ReasonUpgradeChecking, "waiting until other clusters were looked at", 2*time.Second))
	}
	defer leave()
	wanted, err := wantedOf(ctx, r.Client, u, s)
	if err != nil {
		return wait(operator.Retry(v1alpha1.ReasonUpgradeFailed, err))
	}
	facts, err := r.facts(ctx, s, wanted, u.Status.Steps)
	if err != nil {
		return wait(operator.Retry(v1alpha1.ReasonUpgradeFailed, err))
	}
	u.Status.Findings, u.Status.OmittedFindings = Bounded(Check(facts), u.Spec.Ignore)
	u.Status.CheckedTime = r.now()
	return nil
}

// facts gathers what an upgrade is judged by. That the cluster does not answer is a fact, too.
func (r *reconciler) facts(ctx context.Context, s subject, w Wanted, steps []v1alpha1.UpgradeStep) (Facts, error) {
	cluster := s.cluster
	f := Facts{Wanted: w, Steps: steps, Window: windowOf(cluster, r.Now())}
	if ready := apimeta.FindStatusCondition(cluster.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Status != metav1.ConditionTrue {
		f.Unready = "it was not looked at yet"
		if ready != nil {
			f.Unready = cmp.Or(ready.Message, ready.Reason)
		}
	}
	var err error
	if f.NoStore, err = noStore(ctx, r.Client, cluster.Namespace); err != nil {
		return f, err
	}
	if f.LastBackup, err = r.lastBackup(ctx, cluster); err != nil {
		return f, err
	}
	if f.Seen, err = r.Read(ctx, cluster); err != nil {
		if ctx.Err() != nil {
			return f, ctx.Err()
		}
		f.Seen, f.Unseen = Seen{}, listing.Reason(err)
	}
	if w.Rollback && w.Restore != "" { // what is stored now is not what the older programs read
		return f, nil
	}
	if w.Rollback {
		f.Newer, err = r.newerObjects(ctx, s.plane, w.To.String())
		return f, err
	}
	f.Uncalled = "the inventory is not kept here"
	if r.Called != nil {
		f.Uncalled = ""
		if f.Called, err = r.Called(ctx, cluster); err != nil {
			f.Uncalled = listing.Reason(err)
		}
	}
	return f, nil
}

// windowOf says when a cluster may be changed, or nothing when it may be now.
func windowOf(cluster *v1alpha1.Cluster, now time.Time) string {
	calendar, err := maintenance.Parse(cluster.Spec.Maintenance)
	if err != nil {
		return "spec.maintenance of the cluster cannot be read: " + err.Error()
	}
	opens := calendar.Opens(now)
	switch {
	case opens.IsZero():
		return "no maintenance window of the cluster opens any more"
	case !opens.After(now):
		return ""
	case calendar.Frozen(now):
		return "the cluster is frozen; the first step may begin at " + opens.UTC().Format(time.RFC3339)
	}
	return "its next maintenance window opens at " + opens.UTC().Format(time.RFC3339)
}

// noStore says why there is no store in which the organization can have a backup, or nothing.
func noStore(ctx context.Context, from client.Reader, namespace string) (string, error) {
	store := &v1alpha1.BackupStore{}
	err := from.Get(ctx, client.ObjectKey{Name: backupStoreName}, store)
	if apierrors.IsNotFound(err) {
		return "there is no BackupStore " + backupStoreName, nil
	}
	if err != nil {
		return "", fmt.Errorf("read backup store %s: %w", backupStoreName, err)
	}
	organization, _ := v1alpha1.OrganizationOf(namespace)
	if names := store.Spec.OrganizationNames; len(names) > 0 && !slices.Contains(names, organization) {
		return "the organization may not use it", nil
	}
	if ready := apimeta.FindStatusCondition(store.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Status != metav1.ConditionTrue {
		return "it cannot be used now", nil
	}
	return "", nil
}

// lastBackup is the name of a backup of the cluster that is not old, or nothing.
func (r *reconciler) lastBackup(ctx context.Context, cluster *v1alpha1.Cluster) (string, error) {
	list := &v1alpha1.BackupList{}
	if err := r.Client.List(ctx, list, client.InNamespace(cluster.Namespace)); err != nil {
		return "", fmt.Errorf("list backups: %w", err)
	}
	for i := range list.Items {
		b := &list.Items[i]
		if b.Status.ClusterUID == string(cluster.UID) && b.IsTaken() && b.Status.TakenTime != nil && r.Now().Sub(b.Status.TakenTime.Time) < freshBackup {
			return b.Name, nil
		}
	}
	return "", nil
}

func backupName(u *v1alpha1.Upgrade) string { return fmt.Sprintf("before-%.40s-%.8s", u.Name, u.UID) }

// backUp has the cluster backed up, once.
func (r *reconciler) backUp(ctx context.Context, u *v1alpha1.Upgrade) operator.Outcome {
	s := stepOf(u, v1alpha1.StepBackup)
	if s == nil {
		return operator.Done(v1alpha1.ReasonUpgradeStepDone, "there is nothing to do")
	}
	if s.Ended() {
		return operator.Done(v1alpha1.ReasonUpgradeStepDone, s.Message)
	}
	if o := r.begin(u, s, v1alpha1.ReasonUpgradeBackingUp); o != nil {
		return *o
	}
	b, err := r.backup(ctx, u)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonUpgradeFailed, err)
	}
	u.Status.BackupName = b.Name
	if b.IsTaken() {
		r.finish(u, s, v1alpha1.StepDone, "the cluster as it was before is in backup "+b.Name)
		return operator.Wait(v1alpha1.ReasonUpgradeBackingUp, s.Message, atOnce)
	}
	message := "the cluster is being backed up as " + b.Name
	if c := apimeta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); c != nil && c.Message != "" {
		message += ": " + c.Message
	}
	r.hold(u, s, message, apimeta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStalled))
	return operator.Wait(v1alpha1.ReasonUpgradeBackingUp, message, waitCheck)
}

// backup returns the backup of an upgrade, which it creates where it is not there.
func (r *reconciler) backup(ctx context.Context, u *v1alpha1.Upgrade) (*v1alpha1.Backup, error) {
	b := &v1alpha1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: backupName(u), Labels: map[string]string{v1alpha1.LabelUpgrade: string(u.UID)}},
		Spec:       v1alpha1.BackupSpec{ClusterName: u.Spec.ClusterName, StoreName: backupStoreName},
	}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(b), b)
	if apierrors.IsNotFound(err) {
		err = client.IgnoreAlreadyExists(r.Client.Create(ctx, b))
	}
	if err != nil {
		return nil, fmt.Errorf("back up the cluster before the upgrade: %w", err)
	}
	if b.Labels[v1alpha1.LabelUpgrade] != string(u.UID) {
		return nil, errors.New("back up the cluster before the upgrade: backup " + b.Name + " is another one's; delete it")
	}
	return b, nil
}
