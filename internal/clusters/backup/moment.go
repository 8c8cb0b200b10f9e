package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/changelog"
	"kqueen.io/kqueen/internal/platform/jobs"
)

const (
	// fresh is the age up to which a moment may not be written yet: a recorder that was interrupted comes back within it.
	fresh = 5 * time.Minute
	// flushTimeout bounds the wait for what is not written yet.
	flushTimeout = 20 * time.Second
)

// writeMoment makes a backup of a moment, of an earlier one and the changes that were recorded since.
func (r *backups) writeMoment(ctx context.Context, b *v1alpha1.Backup, cp *v1alpha1.ControlPlane) (archive.Written, error) {
	schedules := &v1alpha1.BackupScheduleList{}
	if err := r.Client.List(ctx, schedules, client.InNamespace(b.Namespace)); err != nil {
		return archive.Written{}, fmt.Errorf("list schedules of backups: %w", err)
	}
	refused, recent := "", r.Now().Sub(b.Spec.AsOfTime.Time) < fresh
	for i := range schedules.Items {
		s := &schedules.Items[i]
		if s.Spec.ClusterName != b.Spec.ClusterName || s.Spec.StoreName != b.Spec.StoreName || s.Status.RecordingTime == nil {
			continue
		}
		written, err := r.replay(ctx, b, cp, s, recent)
		unknown, is := errors.AsType[*changelog.NotRecordedError](err)
		switch {
		case err == nil:
			return written, nil
		case !is || unknown.Yet && recent:
			return archive.Written{}, err
		}
		refused = unknown.Problem
	}
	refused = cmp.Or(refused, "no BackupSchedule of the cluster in store "+b.Spec.StoreName+" records its changes (spec.recoveryWindowHours)")
	return archive.Written{}, jobs.Refuse(v1alpha1.ReasonBackupRefused, "spec.asOfTime: %s", refused)
}

// replay makes a backup of a moment, by what one schedule has recorded.
func (r *backups) replay(ctx context.Context, b *v1alpha1.Backup, cp *v1alpha1.ControlPlane, s *v1alpha1.BackupSchedule, recent bool) (w archive.Written, err error) {
	if recent {
		flushing, cancel := context.WithTimeout(ctx, flushTimeout)
		defer cancel()
		if err := r.Flush(flushing, string(s.UID)); err != nil {
			return archive.Written{}, err
		}
	}
	list := &v1alpha1.BackupList{}
	if err := r.Client.List(ctx, list, client.InNamespace(b.Namespace)); err != nil {
		return archive.Written{}, fmt.Errorf("list backups: %w", err)
	}
	log, err := r.stores().Open(ctx, s.Spec.StoreName, s.Namespace, changelog.FolderOf(string(s.UID)))
	if err != nil {
		return archive.Written{}, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	bases := changelog.Bases(list.Items, string(cp.UID), b.Spec.StoreName)
	of := archive.Log{Owner: string(s.UID), Cluster: b.Status.ClusterUID, ControlPlane: b.Status.ControlPlaneUID}
	found, err := changelog.Replay(ctx, log, log.Keys, of, bases, b.Spec.AsOfTime.Time)
	if err != nil {
		return archive.Written{}, err
	}
	base := &v1alpha1.Backup{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: bases[found.Base].Name}, base); err != nil {
		return archive.Written{}, fmt.Errorf("read backup %s: %w", bases[found.Base].Name, err)
	}
	opened, bucket, err := r.open(ctx, base)
	if err != nil {
		return archive.Written{}, fmt.Errorf("open backup %s: %w", base.Name, err)
	}
	defer func() { err = errors.Join(err, bucket.Close()) }()
	to, err := r.archiveOf(ctx, b)
	if err != nil {
		return archive.Written{}, err
	}
	defer func() { err = errors.Join(err, to.bucket.Close()) }()
	// The recording begins again with a backup when a key is replaced: those of the first one are those of the moment.
	to.about.Sealed = opened.Sealed
	to.about.Trust, to.about.Version = opened.Trust, cmp.Or(found.Version, opened.Version)
	return archive.Write(ctx, to.bucket, to.keys, to.about, found.Over(opened.Entries(ctx)), &found.Revision, r.Now)
}
