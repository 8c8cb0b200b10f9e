package backupschedule

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// place is a namespace with a cluster and a schedule of its backups, which are taken as its test says.
type place struct {
	client    client.WithWatch
	namespace string
	now       time.Time
	schedule  *v1alpha1.BackupSchedule
	stuck     bool // backups are not taken
	recording recording
	cp        *v1alpha1.ControlPlane // nil without one
}

func newPlace(t *testing.T, change func(*v1alpha1.BackupScheduleSpec)) *place {
	t.Helper()
	c := controlplanetest.Client(t)
	p := &place{client: c, namespace: controlplanetest.Namespace(t, c)}
	p.schedule = &v1alpha1.BackupSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "nightly"},
		Spec:       v1alpha1.BackupScheduleSpec{ClusterName: "demo", Schedule: "0 0 * * *", Retention: &v1alpha1.BackupRetention{KeepLast: 2}},
	}
	if change != nil {
		change(&p.schedule.Spec)
	}
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "demo"}, Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}}
	for _, o := range []client.Object{cluster, p.schedule} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	p.now = p.schedule.CreationTimestamp.Time
	return p
}

func (p *place) reconciler(inj *operatortest.Injector) reconcile.Reconciler {
	if inj == nil {
		inj = &operatortest.Injector{}
	}
	c := inj.Client(p.client)
	stores := backupstore.Stores{Client: c, Secrets: c, Bucket: p.recording.bucket}
	return (&reconciler{
		Config{Client: c, Stores: stores, Recorders: &p.recording, Now: func() time.Time { return p.now }},
		jobs.New(context.Background(), func(string) {}, func(f func()) { f() }, 0),
	}).operator()
}

// step takes the part of the reconciler of Backup: it takes those that are there, unless they are stuck.
func (p *place) step(ctx context.Context) (bool, error) {
	list := &v1alpha1.BackupList{}
	if err := p.client.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
		return false, err
	}
	cluster := &v1alpha1.Cluster{}
	if err := p.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "demo"}, cluster); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	moved := false
	for i := range list.Items {
		b := &list.Items[i]
		if p.stuck || b.IsTaken() {
			continue
		}
		at := metav1.NewTime(p.now)
		b.Status.ClusterUID, b.Status.Digest, b.Status.TakenTime, moved = string(cluster.UID), "sha256:1", &at, true
		if p.cp != nil {
			b.Status.ControlPlaneUID, b.Status.Revision = string(p.cp.UID), 5
		}
		if err := p.client.Status().Update(ctx, b); err != nil {
			return false, err
		}
	}
	return moved, nil
}

// run lets days pass, one after the other, in each of which the schedule is looked at some times.
func (p *place) run(t *testing.T, days int) {
	t.Helper()
	r := p.reconciler(nil)
	for day := range days + 1 {
		for range 4 {
			if _, err := r.Reconcile(t.Context(), p.request()); err != nil {
				t.Fatal(err)
			}
			if _, err := p.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if day < days {
			p.now = p.now.AddDate(0, 0, 1)
		}
	}
	if err := p.client.Get(t.Context(), p.request().NamespacedName, p.schedule); err != nil {
		t.Fatal(err)
	}
	operatortest.CheckStatus(t, p.schedule)
}

func (p *place) request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p.schedule)}
}

// backups are the days of the backups that are there, as days before today.
func (p *place) backups(ctx context.Context) ([]string, error) {
	list := &v1alpha1.BackupList{}
	if err := p.client.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
		return nil, err
	}
	var out []string
	for i := range list.Items {
		day := strings.Split(list.Items[i].Name, "-")[1]
		at, err := time.Parse("20060102", day)
		if err != nil {
			return nil, err
		}
		out = append(out, fmt.Sprint(int(p.now.Truncate(24*time.Hour).Sub(at).Hours())/24))
	}
	return out, nil
}

func (p *place) check(t *testing.T, ready, want string) {
	t.Helper()
	got, err := p.backups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s := strings.Join(got, " "); s != want {
		t.Errorf("backups of %q days ago, want %q", s, want)
	}
	c := apimeta.FindStatusCondition(p.schedule.Status.Conditions, v1alpha1.ConditionReady)
	if got := string(c.Status) + " " + c.Reason + ": " + c.Message; !strings.HasPrefix(got, ready) {
		t.Errorf("Ready is %q, want %q", got, ready)
	}
}

// TestSchedule: a backup a day is taken, and the last two are kept.
func TestSchedule(t *testing.T) {
	p := newPlace(t, nil)
	p.run(t, 0)
	p.check(t, "True Ready: backups are taken as scheduled", "")
	p.run(t, 1)
	p.check(t, "True", "0")
	p.run(t, 3)
	p.check(t, "True", "1 0")
	s := p.schedule.Status
	midnight := p.now.UTC().Truncate(24 * time.Hour)
	if !s.LastTime.Time.Equal(midnight) || !s.NextTime.Time.Equal(midnight.AddDate(0, 0, 1)) || s.Backups != 2 || !s.LastTakenTime.Time.Equal(p.now.Truncate(time.Second)) {
		t.Errorf("%+v", s)
	}
}

// TestStuck: a backup that is not taken is not followed by another one, and the schedule says so.
func TestStuck(t *testing.T) {
	p := newPlace(t, nil)
	p.run(t, 1)
	p.stuck = true
	p.run(t, 3)
	p.check(t, "False LastBackupMissed: backup nightly-", "3 2")
	p.stuck = false
	p.run(t, 0)
	p.run(t, 1)
	p.check(t, "True", "1 0") // of the days that were missed there is the last one
}

// TestPaused: nothing is taken and deleted while a schedule is paused, and one backup afterwards.
func TestPaused(t *testing.T) {
	p := newPlace(t, func(s *v1alpha1.BackupScheduleSpec) { s.Retention.KeepLast = 1 })
	p.run(t, 1)
	p.pause(t, true)
	p.run(t, 3)
	p.check(t, "True", "3")
	if p.schedule.Status.NextTime != nil {
		t.Errorf("the next one is said to be at %s", p.schedule.Status.NextTime)
	}
	p.pause(t, false)
	p.run(t, 0)
	p.check(t, "True", "0")
}

func (p *place) pause(t *testing.T, paused bool) {
	t.Helper()
	p.schedule.Spec.Paused = paused
	if err := p.client.Update(t.Context(), p.schedule); err != nil {
		t.Fatal(err)
	}
}

// TestClusterGone: without its cluster a schedule stands still, deletes nothing, and goes on with the next of that name.
func TestClusterGone(t *testing.T) {
	p := newPlace(t, func(s *v1alpha1.BackupScheduleSpec) { s.Retention.KeepLast = 1 })
	p.run(t, 1)
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "demo"}, Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}}
	if err := p.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	p.run(t, 2)
	p.check(t, "False ScheduleRefused: spec.clusterName: there is no cluster demo", "2")
	if err := p.client.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	p.run(t, 2)
	p.check(t, "True", "4 0")
}

// TestForeignName: a backup of the name that is due and of another's is not taken for one's own.
func TestForeignName(t *testing.T) {
	p := newPlace(t, nil)
	p.run(t, 0)
	p.now = p.now.AddDate(0, 0, 1)
	due := p.now.UTC().Truncate(24 * time.Hour)
	other := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: nameOf(p.schedule, due)}, Spec: v1alpha1.BackupSpec{ClusterName: "demo"}}
	if err := p.client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	p.run(t, 0)
	p.check(t, "False ScheduleFailed: create backup nightly-", "0")
}

// TestClockWasWrong: a time of a clock that was ahead does not hold the backups up.
func TestClockWasWrong(t *testing.T) {
	p := newPlace(t, nil)
	right := p.now
	p.now = p.now.AddDate(3, 0, 0)
	p.run(t, 0)
	p.now = right.AddDate(0, 0, 1)
	p.run(t, 1)
	p.check(t, "True", "0 -1094") // the latter counts as the newest one until its day
}

func TestValidator(t *testing.T) {
	p := newPlace(t, nil)
	v := Validator{Client: p.client}
	bad := p.schedule.DeepCopy()
	bad.Spec.Schedule = "* * * * *"
	_, created := v.ValidateCreate(t.Context(), bad)
	_, changed := v.ValidateUpdate(t.Context(), p.schedule, bad)
	for what, err := range map[string]error{"create": created, "change": changed} {
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.schedule") {
			t.Errorf("%s: %v", what, err)
		}
	}
	// What was taken by an earlier version stays changeable.
	other := bad.DeepCopy()
	other.Spec.Paused = true
	_, same := v.ValidateUpdate(t.Context(), bad, other)
	_, good := v.ValidateCreate(t.Context(), p.schedule)
	_, deleted := v.ValidateDelete(t.Context(), bad)
	if err := errors.Join(same, good, deleted); err != nil {
		t.Error(err)
	}
}

// TestScheduleUnderFaults: whatever call fails and wherever KQueen dies, each day has one backup, and those that are not kept are gone.
func TestScheduleUnderFaults(t *testing.T) {
	operatortest.RunParallel(t, func(t *testing.T) operatortest.World {
		p := newPlace(t, func(s *v1alpha1.BackupScheduleSpec) { s.Retention.KeepLast = 1 })
		p.run(t, 1)
		p.now = p.now.AddDate(0, 0, 1)
		return operatortest.World{
			Request:    p.request(),
			Reconciler: p.reconciler,
			Object: func(ctx context.Context) (operator.Object, error) {
				return p.schedule, p.client.Get(ctx, p.request().NamespacedName, p.schedule)
			},
			Step: p.step,
			Done: func(ctx context.Context) (bool, error) {
				all, err := p.backups(ctx)
				return len(all) == 1 && all[0] == "0" && p.schedule.Status.Backups == 1, errors.Join(err, p.client.Get(ctx, p.request().NamespacedName, p.schedule))
			},
			Snapshot: func(ctx context.Context) (any, error) { return p.backups(ctx) },
		}
	})
}
