package backupschedule

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/clusters/changelog"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Recorders record the changes of clusters. *changelog.Recorders does.
type Recorders interface {
	Ensure(changelog.Target) changelog.Known
	Known(owner string) changelog.Known
	Stop(owner string) bool
	Trim(owner string, need changelog.Need)
}

const (
	// recordCheck is the time between two looks at a recording that begins, or that waits for something.
	recordCheck = 15 * time.Second
	// latestEvery is how old the latest moment in a status may become: each newer one would be a write.
	latestEvery = 10 * time.Minute
)

// record has the changes between backups recorded.
func (r *reconciler) record(ctx context.Context, s *v1alpha1.BackupSchedule) operator.Outcome {
	if s.Spec.RecoveryWindowHours == 0 || s.Spec.Paused {
		return r.dontRecord(ctx, s)
	}
	cp, refused := r.recordable(ctx, s)
	if refused != nil {
		r.Recorders.Stop(string(s.UID))
		return *refused
	}
	known := r.Recorders.Ensure(changelog.Target{
		Log:       archive.Log{Owner: string(s.UID), Cluster: string(metav1.GetControllerOf(cp).UID), ControlPlane: string(cp.UID)},
		Namespace: s.Namespace, StoreName: s.Spec.StoreName, ControlPlane: cp.DeepCopy(),
	})
	if len(known.Logs) > 0 {
		bases, err := r.bases(ctx, s, cp)
		if err != nil {
			return operator.Retry(v1alpha1.ReasonRecordingFailed, err)
		}
		need := r.need(s, bases)
		r.Recorders.Trim(string(s.UID), need)
		r.note(s, known, need)
	}
	switch {
	case known.Problem != nil:
		return operator.Warn(v1alpha1.ReasonRecordingFailed, fmt.Sprintf("changes are not recorded now: %v", known.Problem))
	case len(known.Logs) == 0:
		return operator.Aside(v1alpha1.ReasonRecordingStarting, "the recording of changes begins", recordCheck)
	case s.Status.EarliestRecoveryTime == nil || s.Status.EarliestRecoveryTime.After(r.Now()):
		return operator.Aside(v1alpha1.ReasonRecordingStarting, "changes are recorded, and wait for the backup that they can be applied to", r.soon(s))
	}
	return operator.DoneUntil(v1alpha1.ReasonChangesRecorded, "changes are recorded; status.earliestRecoveryTime has the first moment that can be restored", latestEvery)
}

// note writes to the status what is recorded.
func (r *reconciler) note(s *v1alpha1.BackupSchedule, known changelog.Known, need changelog.Need) {
	last := known.Logs[len(known.Logs)-1]
	since := metav1.NewTime(last.Began.Truncate(time.Second))
	if before := s.Status.RecordingTime; before != nil && before.Before(&since) && known.Broken != "" && r.Recorder != nil {
		until := "those that are recorded"
		if latest := s.Status.LatestRecoveryTime; latest != nil {
			until = latest.UTC().Format(time.RFC3339)
		}
		r.Recorder.Eventf(s, nil, corev1.EventTypeWarning, v1alpha1.ReasonRecordingInterrupted, "Record",
			"%s: moments between %s and the next backup cannot be restored", known.Broken, until)
	}
	s.Status.RecordingTime, s.Status.EarliestRecoveryTime = &since, nil
	_, from := changelog.Needed(known.Logs, need)
	if from.IsZero() {
		s.Status.LatestRecoveryTime = nil
		return
	}
	earliest := metav1.NewTime(later(from, need.Since.Truncate(time.Hour))) // each later one would be a write
	latest := metav1.NewTime(later(earliest.Time, known.Complete.Truncate(time.Second)))
	s.Status.EarliestRecoveryTime = &earliest
	if old := s.Status.LatestRecoveryTime; old == nil || latest.Sub(old.Time) >= latestEvery || latest.Before(old) || old.Before(&earliest) {
		s.Status.LatestRecoveryTime = &latest
	}
}

// soon is when the first moment has come that can be restored.
func (r *reconciler) soon(s *v1alpha1.BackupSchedule) time.Duration {
	if s.Status.EarliestRecoveryTime == nil {
		return recordCheck
	}
	return min(max(s.Status.EarliestRecoveryTime.Sub(r.Now()), time.Millisecond), recordCheck)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// dontRecord ends the recording. What was recorded stays while a schedule is paused, and goes when it is not wanted any more.
func (r *reconciler) dontRecord(ctx context.Context, s *v1alpha1.BackupSchedule) operator.Outcome {
	if s.Spec.RecoveryWindowHours == 0 && s.Status.RecordingTime != nil {
		if o := r.forget(ctx, s); !o.IsDone() {
			return o
		}
		s.Status.RecordingTime, s.Status.EarliestRecoveryTime, s.Status.LatestRecoveryTime = nil, nil, nil
	}
	if !r.Recorders.Stop(string(s.UID)) {
		return operator.Aside(v1alpha1.ReasonRecordingOff, "the recording of changes ends", recordCheck)
	}
	if s.Spec.Paused {
		return operator.Aside(v1alpha1.ReasonRecordingOff, "changes between backups are not recorded while the schedule is paused", 0)
	}
	return operator.Aside(v1alpha1.ReasonRecordingOff, "changes between backups are not recorded (spec.recoveryWindowHours)", 0)
}

// recordable finds the control plane whose changes are recorded, or says why there can be no recording.
func (r *reconciler) recordable(ctx context.Context, s *v1alpha1.BackupSchedule) (*v1alpha1.ControlPlane, *operator.Outcome) {
	refuse := func(o operator.Outcome) (*v1alpha1.ControlPlane, *operator.Outcome) { return nil, &o }
	cp, err := backupstore.ControlPlaneOf(ctx, r.Client, s.Namespace, s.Spec.ClusterName, "")
	if err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonRecordingFailed, err))
	}
	if cp == nil || !cp.DeletionTimestamp.IsZero() {
		return refuse(operator.Warn(v1alpha1.ReasonRecordingFailed, "spec.clusterName: there is no cluster "+s.Spec.ClusterName+" whose control plane KQueen hosts"))
	}
	if !apimeta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionInitialized) {
		return refuse(operator.Aside(v1alpha1.ReasonRecordingStarting, "waiting for cluster "+s.Spec.ClusterName+", which is not initialized yet", recordCheck))
	}
	store, err := r.Stores.Named(ctx, s.Spec.StoreName)
	if err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonRecordingFailed, err))
	}
	if !backupstore.Allows(store, s.Namespace) {
		return refuse(operator.Warn(v1alpha1.ReasonRecordingFailed, "spec.storeName: there is no BackupStore "+s.Spec.StoreName+" that this organization may use"))
	}
	if !backupstore.Usable(store) {
		return refuse(operator.Warn(v1alpha1.ReasonRecordingFailed, "changes are not recorded: backup store "+store.Name+" cannot be used now"))
	}
	return cp, nil
}

// bases are the backups that what is recorded can be applied to.
func (r *reconciler) bases(ctx context.Context, s *v1alpha1.BackupSchedule, cp *v1alpha1.ControlPlane) ([]changelog.Base, error) {
	list := &v1alpha1.BackupList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	return changelog.Bases(list.Items, string(cp.UID), s.Spec.StoreName), nil
}

// need says what of the recording is needed.
func (r *reconciler) need(s *v1alpha1.BackupSchedule, bases []changelog.Base) changelog.Need {
	window := time.Duration(s.Spec.RecoveryWindowHours) * time.Hour
	return changelog.Need{Since: r.Now().Add(-window), Window: window, Bases: bases}
}

// recorded is what is known of the recording, and the backups to which it can be applied; nothing where there is none.
func (r *reconciler) recorded(ctx context.Context, s *v1alpha1.BackupSchedule) (changelog.Known, []changelog.Base, error) {
	known := r.Recorders.Known(string(s.UID))
	if len(known.Logs) == 0 {
		return known, nil, nil
	}
	cp, err := backupstore.ControlPlaneOf(ctx, r.Client, s.Namespace, s.Spec.ClusterName, "")
	if err != nil || cp == nil {
		return changelog.Known{}, nil, err
	}
	bases, err := r.bases(ctx, s, cp)
	return known, bases, err
}

// baseDue is when the backup is due that a new log needs, and whether it is: in the minute in which the log began, by which it is named as
// others of the schedule are, or in the next one where there was a backup in that minute already.
func (r *reconciler) baseDue(ctx context.Context, s *v1alpha1.BackupSchedule, now time.Time) (time.Time, bool, error) {
	known, bases, err := r.recorded(ctx, s)
	if err != nil || len(known.Logs) == 0 {
		return time.Time{}, false, err
	}
	last := known.Logs[len(known.Logs)-1]
	due := last.Began.Truncate(time.Minute)
	was := func(at time.Time) bool { return s.Status.LastTime != nil && !s.Status.LastTime.Time.Before(at) }
	if was(due) {
		due = due.Add(time.Minute)
	}
	return due, !changelog.HasBase(last, bases) && !was(due) && !due.After(now), nil
}

// needed are the names of backups that what is recorded is applied to.
func (r *reconciler) needed(ctx context.Context, s *v1alpha1.BackupSchedule) (map[string]bool, error) {
	known, bases, err := r.recorded(ctx, s)
	if err != nil {
		return nil, err
	}
	kept, _ := changelog.Needed(known.Logs, r.need(s, bases))
	names := map[string]bool{}
	for _, i := range kept {
		names[bases[i].Name] = true
	}
	return names, nil
}

// forget removes what was recorded.
func (r *reconciler) forget(ctx context.Context, s *v1alpha1.BackupSchedule) operator.Outcome {
	if !r.Recorders.Stop(string(s.UID)) {
		return operator.Wait(v1alpha1.ReasonRecordingOff, "the recording of changes ends", time.Second)
	}
	store, err := r.Stores.Named(ctx, s.Spec.StoreName)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRecordingFailed, err)
	}
	if store == nil || s.Status.RecordingTime == nil && s.Spec.RecoveryWindowHours == 0 {
		return operator.Done(v1alpha1.ReasonIdle, "")
	}
	job := jobs.Job{
		Of: string(s.UID), Name: "forget", Organization: s.Namespace, Running: v1alpha1.ReasonRecordingOff, Message: "what was recorded is being removed",
		Failing: func(error) string { return v1alpha1.ReasonRecordingFailed },
	}
	_, pending := jobs.Run(r.jobs, job, s, func(ctx context.Context, s *v1alpha1.BackupSchedule) (struct{}, error) {
		folder, err := r.Stores.Folder(ctx, store, s.Namespace, changelog.FolderOf(string(s.UID)))
		if err != nil {
			return struct{}{}, err
		}
		defer func() { _ = folder.Close() }()
		return struct{}{}, archive.RemoveLogs(ctx, folder)
	})
	if pending != nil {
		return *pending
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}
