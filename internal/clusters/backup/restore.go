package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/changelog"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
)

// restores holds the phases of Restore.
type restores struct{ *world }

func (r *restores) reconciler() *operator.Reconciler[*v1alpha1.Restore] {
	n := &newClusters{r}
	return operator.New(operator.Config[*v1alpha1.Restore]{
		Client:    r.Client,
		Recorder:  r.Recorder,
		New:       func() *v1alpha1.Restore { return &v1alpha1.Restore{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/restore",
		// Removed in reverse: what was begun to be written is taken back before the control plane starts.
		Phases: []operator.Phase[*v1alpha1.Restore]{
			operator.Once(v1alpha1.ConditionBackupWhole, ended, either(r.examine, n.examine), nil),
			operator.Once(v1alpha1.ConditionControlPlaneStopped, ended, either(r.stop, n.create), r.letGo),
			operator.Once(v1alpha1.ConditionStateSaved, ended, either(r.save, n.save), nil),
			operator.Once(v1alpha1.ConditionStateWritten, ended, either(r.bring, n.fill), either(r.takeBack, n.takeBack)),
			operator.Once(v1alpha1.ConditionServing, ended, either(r.serve, n.serve), nil),
		},
	})
}

// step is what a phase does.
type step func(context.Context, *v1alpha1.Restore) operator.Outcome

// either is the one step for a restore in place, and the other one for a new cluster.
func either(inPlace, asNew step) step {
	return func(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
		if rs.Spec.NewClusterName != "" {
			return asNew(ctx, rs)
		}
		return inPlace(ctx, rs)
	}
}

func ended(rs *v1alpha1.Restore) bool { return rs.Status.CompletionTime != nil }

// ending says what a restore that has ended did. It is pure.
func ending(rs *v1alpha1.Restore) string {
	c := rs.Status.Changes
	if c == nil {
		return "the restore has ended"
	}
	counts := fmt.Sprintf("%d added, %d changed, %d removed", c.Added, c.Changed, c.Removed)
	switch {
	case rs.Spec.NewClusterName != "":
		return endingNew(rs)
	case rs.Spec.CompareOnly:
		return "a restore would change: " + counts
	}
	return "the cluster has the state of backup " + rs.Spec.BackupName + ": " + counts
}

func restoreAct(rs *v1alpha1.Restore, b *v1alpha1.Backup, name, reason, message string) jobs.Job {
	return jobs.Job{
		Of: string(rs.UID), Name: name, Organization: rs.Namespace, Alone: bucketOf(b),
		Running: reason, Message: message, Failing: func(error) string { return v1alpha1.ReasonRestoreFailed },
	}
}

// subject is what a restore is about: a backup and the control plane that it was taken of.
func (r *restores) subject(ctx context.Context, rs *v1alpha1.Restore, backup string) (*v1alpha1.Backup, *v1alpha1.ControlPlane, *operator.Outcome) {
	stalled := func(format string, args ...any) (*v1alpha1.Backup, *v1alpha1.ControlPlane, *operator.Outcome) {
		o := operator.Stalled(v1alpha1.ReasonRestoreRefused, format, args...)
		return nil, nil, &o
	}
	retry := func(err error) (*v1alpha1.Backup, *v1alpha1.ControlPlane, *operator.Outcome) {
		o := operator.Retry(v1alpha1.ReasonRestoreFailed, err)
		return nil, nil, &o
	}
	b, refused := r.backupOf(ctx, rs, backup)
	if refused != nil {
		return nil, nil, refused
	}
	cp, err := r.controlPlaneOf(ctx, b.Namespace, b.Spec.ClusterName, b.Status.ClusterUID)
	if err != nil {
		return retry(err)
	}
	if cp == nil || string(cp.UID) != b.Status.ControlPlaneUID || !cp.DeletionTimestamp.IsZero() {
		return stalled("spec.backupName: the cluster of backup %s is gone; restore it as a new cluster, with spec.newClusterName", b.Name)
	}
	if !rs.Spec.CompareOnly {
		r.makeWay(cp, unfelt)
	}
	return b, cp, nil
}

const (
	// unfelt is for how long after each look at a restore that goes on its cluster makes way for others: what is written at a time takes less,
	// but for large clusters, and a restore that waits for long is not to be slower for that.
	unfelt = 30 * time.Second
	// unfeltAfter is for how long it does after the restore: a controller manager that is ready begins its work.
	unfeltAfter = 3 * time.Second
)

// makeWay has the other clusters feel nothing of what is done for a control plane.
func (r *restores) makeWay(cp *v1alpha1.ControlPlane, long time.Duration) {
	if r.Background != nil {
		r.Background(string(cp.UID), long)
	}
}

// backupOf is the backup of that name, once it is taken.
func (r *restores) backupOf(ctx context.Context, rs *v1alpha1.Restore, name string) (*v1alpha1.Backup, *operator.Outcome) {
	refuse := func(o operator.Outcome) (*v1alpha1.Backup, *operator.Outcome) { return nil, &o }
	b := &v1alpha1.Backup{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: rs.Namespace, Name: name}, b)
	if apierrors.IsNotFound(err) {
		return refuse(operator.Stalled(v1alpha1.ReasonRestoreRefused, "spec.backupName: there is no backup %s", name))
	}
	if err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonRestoreFailed, fmt.Errorf("read backup %s: %w", name, err)))
	}
	// Lists of a cluster have it also while it waits, and when it is refused.
	rs.Status.ClusterName = cmp.Or(rs.Spec.NewClusterName, b.Spec.ClusterName)
	if !b.IsTaken() {
		return refuse(operator.Wait(v1alpha1.ReasonRestoreReading, waitingFor(b), waitCheck))
	}
	return b, nil
}

// waitingFor says why a backup that is waited for is not there. It is pure.
func waitingFor(b *v1alpha1.Backup) string {
	message := "waiting for backup " + b.Name + ", which is not complete"
	if ready := apimeta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Message != "" {
		message += ": " + ready.Message
	}
	return message
}

// examine reads all of the backup before anything is touched.
func (r *restores) examine(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
	const whole = "all of the backup was read, and is what was written"
	if apimeta.IsStatusConditionTrue(rs.Status.Conditions, v1alpha1.ConditionBackupWhole) {
		return operator.Done(v1alpha1.ReasonRestoreDone, whole)
	}
	b, cp, refused := r.subject(ctx, rs, rs.Spec.BackupName)
	if refused != nil {
		return *refused
	}
	if !b.DeletionTimestamp.IsZero() {
		return operator.Stalled(v1alpha1.ReasonRestoreRefused, "spec.backupName: backup %s is being deleted", b.Name)
	}
	if problem := fits(b.Status.Version, cp.Status.Version); problem != "" {
		return operator.Stalled(v1alpha1.ReasonRestoreRefused, "spec.backupName: %s", problem)
	}
	chosen, err := selectionOf(rs.Spec.Include)
	if err != nil {
		return operator.Stalled(v1alpha1.ReasonRestoreRefused, "%v", err)
	}
	_, pending := jobs.Run(r.jobs, restoreAct(rs, b, "examine", v1alpha1.ReasonRestoreReading, "the backup is being read"), rs, func(ctx context.Context, rs *v1alpha1.Restore) (struct{}, error) {
		return struct{}{}, r.fit(ctx, rs, b, cp, chosen)
	})
	if pending != nil {
		return *pending
	}
	return operator.Done(v1alpha1.ReasonRestoreDone, whole)
}

// fit reads all of a backup, and is an error when it is damaged, cannot be read, or cannot be restored.
func (r *restores) fit(ctx context.Context, rs *v1alpha1.Restore, b *v1alpha1.Backup, cp *v1alpha1.ControlPlane, chosen selection) (err error) {
	opened, bucket, err := r.open(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bucket.Close()) }()
	if foreign := changelog.Untrusted(opened.Trust, cp); foreign != "" {
		return jobs.Refuse(v1alpha1.ReasonRestoreRefused, "spec.backupName: the control plane has another key %q than when the backup was taken, such as after a rotation: what is in it cannot be used", foreign)
	}
	if err := opened.Verify(ctx); err != nil {
		return err
	}
	state, err := r.State(ctx, cp)
	if err != nil {
		return err
	}
	if rs.Spec.CompareOnly && len(chosen) == 0 {
		return nil
	}
	seen := map[string]bool{}
	grows, err := growth(ctx, rs, state, opened, func(e datastore.Entry) { chosen.see(seen, e) })
	if err != nil {
		return err
	}
	if missing := chosen.without(seen); len(missing) > 0 {
		return jobs.Refuse(v1alpha1.ReasonRestoreRefused, "spec.include: neither the backup nor the cluster has %s", strings.Join(missing[:min(len(missing), 5)], ", "))
	}
	if rs.Spec.CompareOnly {
		return nil
	}
	return hasSpace(ctx, state, grows)
}

// growth is how many bytes a restore will write. Each entry of the backup and of the cluster is shown to see, whether it is restored or not:
// the cluster is read once for both, because what reads all of it is felt by the other tenants of the data store.
func growth(ctx context.Context, rs *v1alpha1.Restore, state State, b *archive.Backup, see func(datastore.Entry)) (bytes int64, err error) {
	stays, err := staysOf(rs)
	if err != nil {
		return 0, err
	}
	seen := func(e datastore.Entry) bool {
		see(e)
		return stays(e)
	}
	err = state.Compare(ctx, toStore(b.Entries(ctx)), seen, func(c datastore.Change) { bytes += int64(c.Bytes) })
	return bytes, err
}

// hasSpace is an error when the data store has no space for what a restore will write. It is asked while the cluster still runs: from the
// first write on, its control plane would stand still until there is space.
func hasSpace(ctx context.Context, state State, grows int64) error {
	if grows == 0 {
		return nil
	}
	space, err := state.Space(ctx, datastore.LeftByRestores)
	if err == nil && grows*3/2 > space { // pages of an etcd are not full
		err = fmt.Errorf("%d bytes are to be written: %w", grows, datastore.ErrNoSpace)
	}
	return err
}

// fits says why what one version of Kubernetes wrote is not for another to read, or nothing: objects of a newer minor are unknown to an
// older one, and two minors later a stored version may be gone (Kubernetes' deprecation policy, rule 4b). It is pure.
func fits(wrote, runs string) string {
	w, errW := release.ParseVersion(wrote)
	v, errV := release.ParseVersion(runs)
	if err := errors.Join(errW, errV); err != nil {
		return fmt.Sprintf("the backup is of version %q and the cluster runs %q: %v", wrote, runs, err)
	}
	if w.Major() != v.Major() || w.Minor() > v.Minor() || v.Minor()-w.Minor() > 1 {
		return fmt.Sprintf("the backup is of %s and the cluster runs %s; want the same minor, or a cluster that is one minor newer", wrote, runs)
	}
	return ""
}

// sameMinor says whether an API server of a version may go on serving what another version wrote: one of a newer minor adds what is its own,
// such as roles, when it starts. It is pure.
func sameMinor(wrote, runs string) bool {
	w, errW := release.ParseVersion(wrote)
	v, errV := release.ParseVersion(runs)
	return errors.Join(errW, errV) == nil && w.MinorString() == v.MinorString()
}

// claimRetry is the time between two looks at a control plane that another restore has.
const claimRetry = 5 * time.Second

// stop has the control plane stand still: nothing writes but the restore. Where it can, its API server answers reads meanwhile, and the
// changes reach its watches. The controller manager starts anew in any case: its garbage collector remembers which owners are gone, and would
// delete what belongs to one that is restored.
func (r *restores) stop(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
	if rs.Spec.CompareOnly {
		return operator.Done(v1alpha1.ReasonRestoreDone, "a comparison stops nothing")
	}
	if rs.Status.WrittenTime != nil { // it is started, or was
		return operator.Done(v1alpha1.ReasonRestoreDone, "the control plane stood still while the state was written")
	}
	b, cp, refused := r.subject(ctx, rs, rs.Spec.BackupName)
	if refused != nil {
		return *refused
	}
	uid := string(rs.UID)
	if cp.Spec.StoppedFor == "" {
		base := cp.DeepCopy()
		cp.Spec.StoppedFor, cp.Spec.ReadOnly = uid, sameMinor(b.Status.Version, cp.Status.APIServerVersion)
		// The lock refuses it when another restore came first.
		if err := r.Client.Patch(ctx, cp, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
			return operator.Retry(v1alpha1.ReasonRestoreFailed, fmt.Errorf("stop the control plane: %w", err))
		}
	}
	if cp.Spec.StoppedFor != uid {
		return operator.Wait(v1alpha1.ReasonRestoreWaiting, "another restore of the cluster goes first", claimRetry)
	}
	if cp.Status.StoppedFor != uid {
		return operator.Wait(v1alpha1.ReasonRestoreStopping, "the control plane is being stopped", claimRetry)
	}
	return operator.Done(v1alpha1.ReasonRestoreDone, "the control plane stands still")
}

// serve starts the control plane again.
func (r *restores) serve(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
	if rs.Spec.CompareOnly {
		now := r.now()
		rs.Status.CompletionTime = &now
		return operator.Done(v1alpha1.ReasonRestoreDone, ending(rs))
	}
	b, cp, refused := r.subject(ctx, rs, rs.Spec.BackupName)
	if refused != nil {
		return *refused
	}
	if err := r.start(ctx, cp, string(rs.UID)); err != nil {
		return operator.Retry(v1alpha1.ReasonRestoreFailed, err)
	}
	current := cp.Status.ObservedGeneration == cp.Generation && cp.Status.StoppedFor == ""
	if !current || !apimeta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionReady) {
		return operator.Wait(v1alpha1.ReasonRestoreStarting, "the control plane of "+b.Spec.ClusterName+" is being started", claimRetry)
	}
	r.makeWay(cp, unfeltAfter)
	now := r.now()
	rs.Status.CompletionTime = &now
	return operator.Done(v1alpha1.ReasonRestoreDone, ending(rs))
}

// start lets a control plane run that stands still for this UID.
func (r *restores) start(ctx context.Context, cp *v1alpha1.ControlPlane, uid string) error {
	if cp.Spec.StoppedFor != uid {
		return nil
	}
	base := cp.DeepCopy()
	cp.Spec.StoppedFor, cp.Spec.ReadOnly = "", false
	if err := r.Client.Patch(ctx, cp, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	return nil
}

// letGo starts the control plane when the restore is deleted.
func (r *restores) letGo(ctx context.Context, rs *v1alpha1.Restore) operator.Outcome {
	list := &v1alpha1.ControlPlaneList{}
	// Without a cache: what this restore has just claimed must not be missed.
	if err := r.Secrets.List(ctx, list, client.InNamespace(rs.Namespace)); err != nil {
		return operator.Retry(v1alpha1.ReasonRestoreFailed, fmt.Errorf("list control planes: %w", err))
	}
	for i := range list.Items {
		err := client.IgnoreNotFound(r.start(ctx, &list.Items[i], string(rs.UID)))
		if err != nil {
			return operator.Retry(v1alpha1.ReasonRestoreFailed, err)
		}
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}
