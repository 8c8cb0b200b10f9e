package backupschedule

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/clusters/changelog"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// recording is a recorder that says what its test wants, and the folder of its logs.
type recording struct {
	target  *changelog.Target
	known   changelog.Known
	need    changelog.Need
	ending  int // how often Stop says that it has not ended
	folder  string
	files   []string
	removed bool
}

func (r *recording) Ensure(t changelog.Target) changelog.Known {
	r.target = &t
	return r.known
}

func (r *recording) Known(string) changelog.Known {
	if r.target == nil {
		return changelog.Known{}
	}
	return r.known
}

func (r *recording) Stop(string) bool {
	if r.ending > 0 {
		r.ending--
		return false
	}
	r.target = nil
	return true
}

func (r *recording) Trim(_ string, need changelog.Need) { r.need = need }

func (r *recording) bucket(_ backupstore.Place, folder string) (backupstore.Bucket, error) {
	r.folder = folder
	return &logFolder{r}, nil
}

// logFolder is the folder of the logs.
type logFolder struct{ *recording }

func (*logFolder) Close() error { return nil }
func (*logFolder) Put(context.Context, string, []byte) error {
	return errors.New("it is not written to")
}
func (*logFolder) Get(context.Context, string, int64) ([]byte, error) {
	return nil, archive.ErrNotFound
}

func (f *logFolder) List(context.Context, string) ([]string, error) {
	return slices.Clone(f.files), nil
}

func (f *logFolder) Delete(_ context.Context, name string) error {
	f.files = slices.DeleteFunc(f.files, func(file string) bool { return file == name })
	f.removed = true
	return nil
}

// recorded is a place whose schedule records, with a control plane and a store that can be used.
func recorded(t *testing.T) *place {
	t.Helper()
	p := newPlace(t, func(s *v1alpha1.BackupScheduleSpec) {
		s.RecoveryWindowHours, s.Retention.KeepLast = 72, 1
	})
	cluster := &v1alpha1.Cluster{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "demo"}, cluster); err != nil {
		t.Fatal(err)
	}
	cp := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.namespace, Name: "demo",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cluster, v1alpha1.GroupVersion.WithKind("Cluster"))},
	}, Spec: v1alpha1.ControlPlaneSpec{Version: "v1.36.3"}}
	store := &v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}, Spec: v1alpha1.BackupStoreSpec{Directory: "/backups"}}
	for _, o := range []client.Object{cp, store} {
		if err := p.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := p.client.Delete(context.WithoutCancel(t.Context()), store); err != nil {
			t.Error(err)
		}
	})
	truth := metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady}
	truth.Type = v1alpha1.ConditionInitialized
	apimeta.SetStatusCondition(&cp.Status.Conditions, truth)
	truth.Type = v1alpha1.ConditionReady
	apimeta.SetStatusCondition(&store.Status.Conditions, truth)
	if err := errors.Join(p.client.Status().Update(t.Context(), cp), p.client.Status().Update(t.Context(), store)); err != nil {
		t.Fatal(err)
	}
	p.cp = cp
	// A schedule names its store for good.
	schedule := p.schedule
	if err := p.client.Delete(t.Context(), schedule); err != nil {
		t.Fatal(err)
	}
	p.schedule = &v1alpha1.BackupSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "nightly"}, Spec: schedule.Spec}
	p.schedule.Spec.StoreName = store.Name
	if err := p.client.Create(t.Context(), p.schedule); err != nil {
		t.Fatal(err)
	}
	p.now = p.schedule.CreationTimestamp.Time
	p.begin()
	return p
}

// begin begins a log now.
func (p *place) begin() {
	kept := changelog.Kept{Name: changelog.NameOf(p.now, uint32(len(p.recording.known.Logs))), Began: p.now, After: 1}
	p.recording.known.Logs = append(p.recording.known.Logs, kept)
	p.recording.known.Complete = p.now
}

// condition is what a condition says.
func (p *place) condition(name string) string {
	c := apimeta.FindStatusCondition(p.schedule.Status.Conditions, name)
	if c == nil {
		return "none"
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

// TestRecording: what is recorded gets a backup to start from at once, and the backups that it is applied to are kept as long as
// the window says.
func TestRecording(t *testing.T) {
	p := recorded(t)
	p.run(t, 0)
	if got := p.condition(v1alpha1.ConditionChangesRecorded); !strings.HasPrefix(got, "False RecordingStarting") {
		t.Error(got)
	}
	begun := p.now
	p.check(t, "True", "0")
	want := p.now.Truncate(time.Second).Add(time.Second)
	if got := p.schedule.Status.EarliestRecoveryTime; got == nil || !got.Time.Equal(want) || !p.schedule.Status.RecordingTime.Time.Equal(begun) {
		t.Errorf("%+v, want %s", p.schedule.Status, want)
	}
	p.now = p.now.Add(2 * time.Second)
	p.run(t, 0)
	if got := p.condition(v1alpha1.ConditionChangesRecorded); !strings.HasPrefix(got, "True ChangesRecorded") {
		t.Error(got)
	}
	if to := p.recording.target; to == nil || to.Log.Owner != string(p.schedule.UID) || to.Log.ControlPlane != string(p.cp.UID) {
		t.Errorf("%+v", to)
	}
	p.run(t, 5)
	// The last one is kept by the rule, and by the window the one of three days ago, and those that come after it.
	p.check(t, "True", "3 2 1 0")
	if since := p.now.Add(-72 * time.Hour); !p.recording.need.Since.Equal(since) || len(p.recording.need.Bases) == 0 {
		t.Errorf("%+v", p.recording.need)
	}
	if got := p.schedule.Status.EarliestRecoveryTime.Time; got.Before(p.now.Add(-73*time.Hour)) || got.After(p.now.Add(-71*time.Hour)) {
		t.Errorf("from %s on", got)
	}
}

// TestInterrupted: a log that begins where there was one gets a backup of its own, and backups go on while nothing is recorded.
func TestInterrupted(t *testing.T) {
	p := recorded(t)
	p.run(t, 1)
	p.recording.known.Problem = errors.New("the disk is full")
	p.run(t, 1)
	p.check(t, "False RecordingFailed: changes are not recorded now: the disk is full", "2 1 0")
	p.recording.known.Problem, p.recording.known.Broken = nil, "more was changed"
	p.now = p.now.Add(3 * time.Hour)
	p.begin()
	p.now = p.now.Add(2 * time.Minute)
	p.run(t, 0)
	all, err := p.backups(t.Context())
	if err != nil || len(all) != 4 {
		t.Errorf("%v %v", all, err)
	}
	p.check(t, "True", strings.Join(all, " "))
}

// TestNotRecorded: what stands against recording is said, and recording ends.
func TestNotRecorded(t *testing.T) {
	for want, change := range map[string]func(*testing.T, *place) error{
		"there is no cluster demo whose control plane KQueen hosts": func(t *testing.T, p *place) error {
			return p.client.Delete(t.Context(), p.cp)
		},
		"cannot be used now": func(t *testing.T, p *place) error {
			store := &v1alpha1.BackupStore{}
			err := p.client.Get(t.Context(), client.ObjectKey{Name: p.namespace}, store)
			store.Status.Conditions = nil
			return errors.Join(err, p.client.Status().Update(t.Context(), store))
		},
		"that this organization may use": func(t *testing.T, p *place) error {
			store := &v1alpha1.BackupStore{}
			err := p.client.Get(t.Context(), client.ObjectKey{Name: p.namespace}, store)
			store.Spec.OrganizationNames = []string{"another"}
			return errors.Join(err, p.client.Update(t.Context(), store))
		},
		"while the schedule is paused": func(t *testing.T, p *place) error {
			p.recording.ending = 1
			p.pause(t, true)
			return nil
		},
	} {
		p := recorded(t)
		p.run(t, 0)
		if err := change(t, p); err != nil {
			t.Fatal(err)
		}
		p.run(t, 0)
		if got := p.condition(v1alpha1.ConditionChangesRecorded); !strings.Contains(got, want) || p.recording.target != nil {
			t.Errorf("got %q, want %q", got, want)
		}
		if p.recording.removed {
			t.Errorf("%s: what was recorded is gone", want)
		}
	}
}

// TestForget: what was recorded goes when it is not wanted any more.
func TestForget(t *testing.T) {
	p := recorded(t)
	p.run(t, 0)
	p.recording.files = []string{"log/a/1", "log/a/2"}
	p.schedule.Spec.RecoveryWindowHours = 0
	if err := p.client.Update(t.Context(), p.schedule); err != nil {
		t.Fatal(err)
	}
	p.run(t, 0)
	if len(p.recording.files) > 0 || p.recording.folder != p.namespace+"/changes-"+string(p.schedule.UID) || p.schedule.Status.RecordingTime != nil {
		t.Errorf("%+v %+v", p.recording, p.schedule.Status)
	}
}

// TestForgetUnderFaults: a schedule that is deleted leaves nothing of what it has recorded, whatever fails.
func TestForgetUnderFaults(t *testing.T) {
	operatortest.RunParallel(t, func(t *testing.T) operatortest.World {
		p := recorded(t)
		p.run(t, 0)
		p.recording.files, p.recording.ending = []string{"log/a/1", "log/a/2"}, 1
		w := operatortest.World{
			Request:    p.request(),
			Reconciler: p.reconciler,
			Object: func(ctx context.Context) (operator.Object, error) {
				return p.schedule, p.client.Get(ctx, p.request().NamespacedName, p.schedule)
			},
			Done:     func(context.Context) (bool, error) { return true, nil },
			Snapshot: func(context.Context) (any, error) { return len(p.recording.files), nil },
		}
		return operatortest.After(t, w, operatortest.Act{
			Do: func(ctx context.Context) error { return client.IgnoreNotFound(p.client.Delete(ctx, p.schedule)) },
			Done: func(ctx context.Context) (bool, error) {
				err := p.client.Get(ctx, p.request().NamespacedName, p.schedule)
				return err != nil, client.IgnoreNotFound(err)
			},
		})
	})
}
