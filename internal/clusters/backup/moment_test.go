package backup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/changelog"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// recordedPlace has a backup "then" and the changes after it: a is 2 after ten seconds, and b is there after twenty. It is two minutes later.
func recordedPlace(t *testing.T) (p *place, then time.Time) {
	t.Helper()
	p = newPlace(t)
	b := p.backup(t, "then")
	then = p.now
	p.change()
	s := &v1alpha1.BackupSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "hourly"},
		Spec:       v1alpha1.BackupScheduleSpec{ClusterName: "demo", StoreName: p.store, Schedule: "@hourly", RecoveryWindowHours: 1},
	}
	if err := p.client.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	began := metav1.NewTime(then)
	s.Status.RecordingTime = &began
	if err := p.client.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	opened, err := p.world(nil).stores().Open(t.Context(), p.store, p.namespace, changelog.FolderOf(string(s.UID)))
	if err != nil {
		t.Fatal(err)
	}
	segment := archive.Segment{
		Log: archive.Log{
			Owner: string(s.UID), Cluster: b.Status.ClusterUID, ControlPlane: b.Status.ControlPlaneUID, Name: changelog.NameOf(then, 1),
		},
		After: 5, Until: 20, Since: then, Complete: then.Add(30 * time.Second), Version: "v1.37.0",
		Changes: []archive.Change{
			{Revision: 8, Time: then.Add(10 * time.Second), Key: "configmaps/default/a", Value: []byte("2")},
			{Revision: 9, Time: then.Add(20 * time.Second), Key: "configmaps/default/b", Value: []byte("1")},
		},
	}
	if err := archive.WriteSegment(t.Context(), opened, opened.Keys, segment); err != nil {
		t.Fatal(err)
	}
	p.now = then.Add(10 * time.Minute)
	return p, then
}

// askAt asks for a backup of a moment.
func (p *place) askAt(t *testing.T, name string, at time.Time) *v1alpha1.Backup {
	t.Helper()
	moment := metav1.NewTime(at)
	b := &v1alpha1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name},
		Spec:       v1alpha1.BackupSpec{ClusterName: "demo", StoreName: p.store, AsOfTime: &moment},
	}
	if err := p.client.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return b
}

// content is what is in a backup.
func (p *place) content(t *testing.T, b *v1alpha1.Backup) string {
	t.Helper()
	opened, bucket, err := p.world(nil).open(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	var all []string
	for e, err := range opened.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Key+"="+string(e.Value))
	}
	return strings.Join(all, " ")
}

// TestMoment: a backup of a moment is of what the cluster was then, whatever it is now.
func TestMoment(t *testing.T) {
	p, then := recordedPlace(t)
	for name, want := range map[string]struct {
		after    time.Duration
		content  string
		revision int64
		version  string
	}{
		"before": {5 * time.Second, "configmaps/default/a=1 minions/n=then", 7, "v1.36.2"},
		"middle": {15 * time.Second, "configmaps/default/a=2 minions/n=then", 8, "v1.37.0"},
		"after":  {30 * time.Second, "configmaps/default/a=2 configmaps/default/b=1 minions/n=then", 9, "v1.37.0"},
	} {
		b := p.askAt(t, name, then.Add(want.after))
		p.settle(t, b)
		if !apimeta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReady) {
			t.Fatalf("%s: %+v", name, b.Status)
		}
		if got := p.content(t, b); got != want.content || b.Status.Revision != want.revision || b.Status.Version != want.version {
			t.Errorf("%s: %q at %d of %s, want %+v", name, got, b.Status.Revision, b.Status.Version, want)
		}
	}
	if p.flushed > 0 {
		t.Error("what is long written was waited for")
	}
	// It is restored as others are.
	rs := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "back"}, Spec: v1alpha1.RestoreSpec{BackupName: "before"}}
	if err := p.client.Create(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	p.settle(t, rs)
	if p.state["configmaps/default/a"] != "1" || rs.Status.CompletionTime == nil {
		t.Errorf("%v %+v", p.state, rs.Status)
	}
}

// TestMomentRefused: what is not known is refused, with what would be right; what may be known soon is tried again.
func TestMomentRefused(t *testing.T) {
	p, then := recordedPlace(t)
	for want, at := range map[string]time.Time{
		"is in the future":                  p.now.Add(time.Minute),
		"changes are recorded from":         then.Add(-time.Minute),
		"can be applied was taken at":       then,
		"changes are recorded until":        then.Add(40 * time.Second),
		"changes are recorded until 20":     p.now.Add(-4 * time.Minute),
		"the recording of changes is ended": p.now.Add(-3 * time.Minute),
	} {
		p.flushFails = nil
		if strings.HasPrefix(want, "the recording") {
			p.flushFails = errors.New("the recording of changes is ended")
		}
		b := p.askAt(t, "at-"+strings.ReplaceAll(at.UTC().Format("150405"), ":", ""), at)
		p.settle(t, b)
		ready := apimeta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
		recent := p.now.Sub(at) < fresh && !at.After(p.now)
		stalled := apimeta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStalled)
		if !strings.Contains(ready.Message, want) || stalled == recent {
			t.Errorf("%s: stalled %t, %s", want, stalled, ready.Message)
		}
	}
	if p.flushed == 0 {
		t.Error("what may not be written yet was not waited for")
	}
	if err := p.client.DeleteAllOf(t.Context(), &v1alpha1.BackupSchedule{}, client.InNamespace(p.namespace)); err != nil {
		t.Fatal(err)
	}
	b := p.askAt(t, "alone", then.Add(15*time.Second))
	p.settle(t, b)
	if ready := apimeta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); !strings.Contains(ready.Message, "no BackupSchedule of the cluster") {
		t.Errorf("%s", ready.Message)
	}
}

// TestMomentDamaged: a log that was changed makes no backup.
func TestMomentDamaged(t *testing.T) {
	p, then := recordedPlace(t)
	for _, files := range p.folders {
		for name, data := range files {
			if strings.HasPrefix(name, "log/") {
				data[len(data)-1] ^= 1
			}
		}
	}
	before := p.files()
	b := p.askAt(t, "damaged", then.Add(15*time.Second))
	p.settle(t, b)
	ready := apimeta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	if !strings.Contains(ready.Message, "the log of changes is not what was written") || p.files() != before {
		t.Errorf("%s, %d files of %d", ready.Message, p.files(), before)
	}
}

// TestStoreWithLog: a store stays while what a schedule has recorded is read with its keys.
func TestStoreWithLog(t *testing.T) {
	p, _ := recordedPlace(t)
	store := &v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Name: p.store}}
	for _, o := range []client.Object{&v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "then"}}, store} {
		if err := p.client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	p.settle(t, &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "then"}})
	p.settle(t, store)
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(store), store); err != nil {
		t.Fatal(err)
	}
	ready := apimeta.FindStatusCondition(store.Status.Conditions, v1alpha1.ConditionReady)
	if !strings.Contains(ready.Message, "schedules of backups that record changes here: 1") {
		t.Errorf("%s", ready.Message)
	}
}

func TestMomentUnderFaults(t *testing.T) {
	operatortest.RunParallel(t, func(t *testing.T) operatortest.World {
		p, then := recordedPlace(t)
		p.now = then.Add(time.Minute) // so that the recorder is asked
		b := p.askAt(t, "moment", then.Add(15*time.Second))
		w := p.worldOf(b, func() bool { return b.Status.VerifiedTime != nil })
		w.Snapshot = func(ctx context.Context) (any, error) {
			e, err := p.snapshot(ctx, b)
			if err != nil || !b.IsTaken() {
				return e, err
			}
			return []any{e, p.content(t, b)}, nil
		}
		return w
	})
}
