package backupschedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/text"
)

const (
	// lateAfter is how long a backup that is due may take before it counts as missed.
	lateAfter = time.Hour
	// keepLast is how many backups are kept where the API server has not said it.
	keepLast = 7
	// waitCheck is the longest time between two looks at a backup that is not taken yet.
	waitCheck = time.Minute
)

// Config is what the reconciler is made of. All fields but Recorder are required.
type Config struct {
	Client    client.Client
	Stores    backupstore.Stores
	Recorders Recorders
	Recorder  events.EventRecorder
	Now       func() time.Time
}

type reconciler struct {
	Config
	jobs *jobs.Jobs
}

func (r *reconciler) operator() *operator.Reconciler[*v1alpha1.BackupSchedule] {
	return operator.New(operator.Config[*v1alpha1.BackupSchedule]{
		Client:    r.Client,
		Recorder:  r.Recorder,
		New:       func() *v1alpha1.BackupSchedule { return &v1alpha1.BackupSchedule{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/backupschedule",
		Ready:     "backups are taken as scheduled",
		Phases: []operator.Phase[*v1alpha1.BackupSchedule]{
			{Condition: v1alpha1.ConditionChangesRecorded, Ensure: r.record, Remove: r.forget},
			{Condition: v1alpha1.ConditionScheduled, Ensure: r.schedule},
			{Condition: v1alpha1.ConditionLastBackupTaken, Ensure: r.follow},
			{Condition: v1alpha1.ConditionRetained, Ensure: r.retain},
		},
	})
}

// schedule creates a backup when one is due.
func (r *reconciler) schedule(ctx context.Context, s *v1alpha1.BackupSchedule) operator.Outcome {
	times, err := ParseTimes(s.Spec.Schedule, s.Spec.TimeZone)
	if err != nil {
		return operator.Stalled(v1alpha1.ReasonScheduleRefused, "%v", err)
	}
	if s.Spec.Paused {
		s.Status.NextTime = nil
		return operator.Aside(v1alpha1.ReasonSchedulePaused, "no backup is taken; go on with: kqueen backupschedule resume "+s.Name, 0)
	}
	if _, refused := r.cluster(ctx, s); refused != nil {
		return *refused
	}
	now := r.Now()
	due, is := times.Due(lastOf(s, now), now)
	if !is {
		if due, is, err = r.baseDue(ctx, s, now); err != nil {
			return operator.Retry(v1alpha1.ReasonScheduleFailed, err)
		}
	}
	if is {
		taken, err := r.create(ctx, s, due)
		if err != nil {
			return operator.Retry(v1alpha1.ReasonScheduleFailed, err)
		}
		if taken {
			at := metav1.NewTime(due)
			s.Status.LastTime, s.Status.LastBackupName = &at, nameOf(s, due)
		}
	}
	next := metav1.NewTime(times.Next(now))
	s.Status.NextTime = &next
	return operator.DoneUntil(v1alpha1.ReasonScheduled, "the next backup is taken when spec.schedule says; status.nextTime has when that is", next.Sub(now))
}

// lastOf is from when on a backup may be due. A time that has not come yet is of a clock that was wrong, and would hold all backups up. It
// is pure.
func lastOf(s *v1alpha1.BackupSchedule, now time.Time) time.Time {
	if last := s.Status.LastTime; last != nil && !last.After(now) {
		return last.Time
	}
	return s.CreationTimestamp.Time
}

// nameOf names the backup that is due at a time, so that it is created once whatever happens in between.
func nameOf(s *v1alpha1.BackupSchedule, due time.Time) string {
	return s.Name + due.UTC().Format("-20060102-1504")
}

// cluster finds the cluster that is backed up, or says why there is none.
func (r *reconciler) cluster(ctx context.Context, s *v1alpha1.BackupSchedule) (*v1alpha1.Cluster, *operator.Outcome) {
	refuse := func(o operator.Outcome) (*v1alpha1.Cluster, *operator.Outcome) { return nil, &o }
	c := &v1alpha1.Cluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.ClusterName}, c)
	if apierrors.IsNotFound(err) {
		return refuse(operator.Stalled(v1alpha1.ReasonScheduleRefused, "spec.clusterName: there is no cluster %s", s.Spec.ClusterName))
	}
	if err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonScheduleFailed, fmt.Errorf("read cluster %s: %w", s.Spec.ClusterName, err)))
	}
	return c, nil
}

// create creates the backup that is due, unless the one before is not taken yet: one that cannot be taken would be followed by others.
func (r *reconciler) create(ctx context.Context, s *v1alpha1.BackupSchedule, due time.Time) (bool, error) {
	before, err := r.last(ctx, s)
	if err != nil {
		return false, err
	}
	b := &v1alpha1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: nameOf(s, due), Labels: map[string]string{v1alpha1.LabelBackupSchedule: string(s.UID)}},
		Spec:       v1alpha1.BackupSpec{ClusterName: s.Spec.ClusterName, StoreName: s.Spec.StoreName},
	}
	if before != nil && before.Name != b.Name && !before.IsTaken() {
		return false, nil
	}
	err = r.Client.Create(ctx, b)
	if apierrors.IsAlreadyExists(err) {
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return false, fmt.Errorf("read backup %s: %w", b.Name, err)
		}
		if b.Labels[v1alpha1.LabelBackupSchedule] != string(s.UID) {
			return false, errors.New("create backup " + b.Name + ": there is one of this name that is not of this schedule; delete it")
		}
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("create backup %s: %w", b.Name, err)
	}
	return true, nil
}

// last is the backup that was due last, or nil when there is none any more.
func (r *reconciler) last(ctx context.Context, s *v1alpha1.BackupSchedule) (*v1alpha1.Backup, error) {
	if s.Status.LastBackupName == "" {
		return nil, nil
	}
	b := &v1alpha1.Backup{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Status.LastBackupName}, b)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read backup %s: %w", s.Status.LastBackupName, err)
	}
	return b, nil
}

// follow says how the backup that was due last is.
func (r *reconciler) follow(ctx context.Context, s *v1alpha1.BackupSchedule) operator.Outcome {
	b, err := r.last(ctx, s)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonScheduleFailed, err)
	}
	switch {
	case s.Status.LastTime == nil:
		return operator.Done(v1alpha1.ReasonLastBackupTaken, "no backup was due yet")
	case b == nil:
		return operator.Done(v1alpha1.ReasonLastBackupTaken, "backup "+s.Status.LastBackupName+" was deleted")
	case b.IsTaken():
		return operator.Done(v1alpha1.ReasonLastBackupTaken, "backup "+b.Name+" is taken")
	}
	message := "backup " + b.Name + " is not taken yet"
	ready := apimeta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Message != "" {
		message += ": " + ready.Message
	}
	late := s.Status.LastTime.Add(lateAfter).Sub(r.Now())
	if late <= 0 || apimeta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStalled) {
		return operator.Warn(v1alpha1.ReasonLastBackupMissed, message)
	}
	return operator.Aside(v1alpha1.ReasonLastBackupPending, message, min(late, waitCheck))
}

// retain deletes the backups that are not kept.
func (r *reconciler) retain(ctx context.Context, s *v1alpha1.BackupSchedule) operator.Outcome {
	list := &v1alpha1.BackupList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelBackupSchedule: string(s.UID)}); err != nil {
		return operator.Retry(v1alpha1.ReasonScheduleFailed, fmt.Errorf("list backups: %w", err))
	}
	s.Status.Backups = int32(len(list.Items))
	for i := range list.Items {
		if at := list.Items[i].Status.TakenTime; at != nil && (s.Status.LastTakenTime == nil || s.Status.LastTakenTime.Before(at)) {
			s.Status.LastTakenTime = at
		}
	}
	kept := operator.Done(v1alpha1.ReasonRetained, "the schedule has "+text.Count(len(list.Items), "backup"))
	if s.Spec.Paused {
		return kept
	}
	c, refused := r.cluster(ctx, s)
	if refused != nil {
		return *refused
	}
	times, err := ParseTimes(s.Spec.Schedule, s.Spec.TimeZone)
	if err != nil {
		return operator.Stalled(v1alpha1.ReasonScheduleRefused, "%v", err)
	}
	keep := v1alpha1.BackupRetention{KeepLast: keepLast}
	if s.Spec.Retention != nil {
		keep = *s.Spec.Retention
	}
	needed, err := r.needed(ctx, s)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonScheduleFailed, err)
	}
	surplus := slices.DeleteFunc(Surplus(list.Items, string(c.UID), keep, times.Zone()), func(b v1alpha1.Backup) bool { return needed[b.Name] })
	for i := range surplus {
		b := &surplus[i]
		// As it was judged: one that changed meanwhile is judged again.
		same := client.Preconditions{UID: &b.UID, ResourceVersion: &b.ResourceVersion}
		if err := client.IgnoreNotFound(r.Client.Delete(ctx, b, same)); err != nil {
			return operator.Retry(v1alpha1.ReasonScheduleFailed, fmt.Errorf("delete backup %s: %w", b.Name, err))
		}
		if r.Recorder != nil {
			r.Recorder.Eventf(s, nil, corev1.EventTypeNormal, v1alpha1.ReasonBackupExpired, "Retain", "backup %s is not kept any more and is deleted", b.Name)
		}
	}
	return kept
}
