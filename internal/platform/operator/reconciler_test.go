package operator_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

const finalizer = "kqueen.io/test"

type phase = operator.Phase[*v1alpha1.Provisioner]

// subject is a Provisioner in a namespace of its own and what was done to it.
type subject struct {
	client  client.WithWatch // counts
	key     client.ObjectKey
	request reconcile.Request
	writes  []string // "patch" and "status", in their order
	log     []string // what phases noted
}

func newSubject(t *testing.T) *subject {
	t.Helper()
	c := controlplanetest.Client(t)
	s := &subject{key: client.ObjectKey{Namespace: controlplanetest.Namespace(t, c), Name: "x"}}
	s.request = reconcile.Request{NamespacedName: s.key}
	s.client = interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			s.writes = append(s.writes, "patch")
			return c.Patch(ctx, obj, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			s.writes = append(s.writes, sub)
			return c.SubResource(sub).Patch(ctx, obj, p, opts...)
		},
	})
	p := &v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}, Spec: v1alpha1.ProvisionerSpec{Driver: "test"}}
	if err := c.Create(t.Context(), p); err != nil {
		t.Fatalf("create the object: %v", err)
	}
	return s
}

func (s *subject) config(phases ...phase) operator.Config[*v1alpha1.Provisioner] {
	return operator.Config[*v1alpha1.Provisioner]{
		Client: s.client, New: func() *v1alpha1.Provisioner { return &v1alpha1.Provisioner{} }, Finalizer: finalizer, Phases: phases,
	}
}

// phase notes that it ran, and ends as the functions say; done when they are nil.
func (s *subject) phase(name string, ensure, remove func() operator.Outcome) phase {
	act := func(what string, say func() operator.Outcome) func(context.Context, *v1alpha1.Provisioner) operator.Outcome {
		return func(context.Context, *v1alpha1.Provisioner) operator.Outcome {
			s.log = append(s.log, what+" "+name)
			if say == nil {
				return operator.Done("Done", "")
			}
			return say()
		}
	}
	return phase{Condition: name, Ensure: act("ensure", ensure), Remove: act("remove", remove)}
}

func (s *subject) get(t *testing.T) *v1alpha1.Provisioner {
	t.Helper()
	p := &v1alpha1.Provisioner{}
	if err := s.client.Get(t.Context(), s.key, p); err != nil {
		t.Fatalf("read the object: %v", err)
	}
	return p
}

// run reconciles once and returns the object after it, with its status checked.
func (s *subject) run(t *testing.T, r reconcile.Reconciler) (*v1alpha1.Provisioner, reconcile.Result) {
	t.Helper()
	s.log, s.writes = nil, nil
	result, err := r.Reconcile(t.Context(), s.request)
	if err != nil {
		t.Fatalf("reconcile: %v", err)
	}
	p := s.get(t)
	operatortest.CheckStatus(t, p)
	return p, result
}

func (s *subject) delete(t *testing.T) {
	t.Helper()
	if err := s.client.Delete(t.Context(), s.get(t)); err != nil {
		t.Fatalf("delete the object: %v", err)
	}
}

func want[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func waits() operator.Outcome { return operator.Wait("Waiting", "for another", 0) }

func TestPhasesRunInOrder(t *testing.T) {
	s := newSubject(t)
	finalized := false
	first := phase{Condition: "First", Ensure: func(ctx context.Context, _ *v1alpha1.Provisioner) operator.Outcome {
		stored := &v1alpha1.Provisioner{}
		if err := s.client.Get(ctx, s.key, stored); err != nil {
			return operator.Retry("Unreadable", err)
		}
		finalized = len(stored.Finalizers) == 1 && stored.Finalizers[0] == finalizer
		s.log = append(s.log, "ensure First")
		return operator.Done("Done", "")
	}}
	r := operator.New(s.config(first, s.phase("Second", nil, nil), s.phase("Third", waits, nil), s.phase("Fourth", nil, nil)))

	p, result := s.run(t, r)
	if !finalized {
		t.Error("the finalizer was not stored before the first phase ran: a crash then would leak what the phase makes")
	}
	want(t, "the phases that ran", []string{"ensure First", "ensure Second", "ensure Third"}, s.log)
	want(t, "writes", []string{"patch", "status"}, s.writes)
	want(t, "result", reconcile.Result{}, result)
	if c := apimeta.FindStatusCondition(p.Status.Conditions, "Fourth"); c != nil {
		t.Errorf("a phase that did not run has a condition: %v", c)
	}

	s.run(t, r)
	want(t, "writes when nothing changed", nil, s.writes)
}

func TestStatusOfPhasesIsInTheOnePatch(t *testing.T) {
	s := newSubject(t)
	r := operator.New(s.config(s.phase("A", nil, nil), s.phase("B", nil, nil), s.phase("C", nil, nil)))
	p, _ := s.run(t, r)
	want(t, "writes", []string{"patch", "status"}, s.writes)
	for _, kind := range []string{"A", "B", "C", v1alpha1.ConditionReady} {
		if !apimeta.IsStatusConditionTrue(p.Status.Conditions, kind) {
			t.Errorf("condition %s is not true", kind)
		}
	}
}

func TestNothingIsMadeOfADeletedObject(t *testing.T) {
	s := newSubject(t)
	r := operator.New(s.config(s.phase("A", nil, nil)))
	s.delete(t)
	for range 2 {
		if result, err := r.Reconcile(t.Context(), s.request); err != nil || result.RequeueAfter != 0 {
			t.Errorf("reconcile of what is gone: %v, %v", result, err)
		}
	}
	want(t, "phases that ran", nil, s.log)
}

func TestRemoveRunsInReverseUntilOneIsNotDone(t *testing.T) {
	s := newSubject(t)
	gone := map[string]bool{}
	removing := func(name string) func() operator.Outcome {
		return func() operator.Outcome {
			if !gone[name] {
				return operator.Wait("Remaining", name+" is still there", time.Minute)
			}
			return operator.Done("Idle", "")
		}
	}
	without := phase{Condition: "Without", Ensure: func(context.Context, *v1alpha1.Provisioner) operator.Outcome { return operator.Done("Done", "") }}
	r := operator.New(s.config(s.phase("A", nil, removing("A")), without, s.phase("B", nil, removing("B"))))
	s.run(t, r)
	s.delete(t)

	p, result := s.run(t, r)
	want(t, "removed while B remains", []string{"remove B"}, s.log)
	want(t, "result", reconcile.Result{RequeueAfter: time.Minute}, result)
	want(t, "message of Ready", "B is still there", apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady).Message)
	want(t, "writes", []string{"status"}, s.writes)

	gone["B"] = true
	p, _ = s.run(t, r)
	want(t, "removed while A remains", []string{"remove B", "remove A"}, s.log)
	want(t, "finalizers", []string{finalizer}, p.Finalizers)

	gone["A"] = true
	if _, err := r.Reconcile(t.Context(), s.request); err != nil {
		t.Fatalf("last reconcile: %v", err)
	}
	if err := s.client.Get(t.Context(), s.key, p); !apierrors.IsNotFound(err) {
		t.Errorf("the object is still there when all is removed: %v", err)
	}
}

func TestWarnLetsLaterPhasesRun(t *testing.T) {
	s := newSubject(t)
	limps := func() operator.Outcome { return operator.Warn("Limping", "it limps") }
	later := func() operator.Outcome { return operator.DoneUntil("Done", "", time.Minute) }
	r := operator.New(s.config(s.phase("A", nil, nil), s.phase("B", limps, limps), s.phase("C", later, nil)))
	p, result := s.run(t, r)
	want(t, "phases that ran", []string{"ensure A", "ensure B", "ensure C"}, s.log)
	want(t, "result", reconcile.Result{RequeueAfter: time.Minute}, result)
	want(t, "message of Ready", "it limps", apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady).Message)
	if apimeta.IsStatusConditionTrue(p.Status.Conditions, "B") || !apimeta.IsStatusConditionTrue(p.Status.Conditions, "C") {
		t.Errorf("want B false and C true, got %v", p.Status.Conditions)
	}
	s.run(t, r)
	want(t, "writes when nothing changed", nil, s.writes)

	s.delete(t)
	p, _ = s.run(t, r)
	want(t, "removed while B warns", []string{"remove C", "remove B"}, s.log)
	want(t, "finalizers", []string{finalizer}, p.Finalizers)
}

// TestObservingPhase: what others act on is looked at when a phase before has failed, and decides nothing of the run.
func TestObservingPhase(t *testing.T) {
	s := newSubject(t)
	end := operator.Stalled("Broken", "mend it")
	ends := func() operator.Outcome { return end }
	seen := operator.Done("Seen", "it is there")
	observes := s.phase("C", func() operator.Outcome { return seen }, nil)
	observes.Observes = true
	r := operator.New(s.config(s.phase("A", ends, ends), s.phase("B", nil, nil), observes))
	look := func(status metav1.ConditionStatus, reason string) {
		t.Helper()
		p, _ := s.run(t, r)
		want(t, "phases that ran", []string{"ensure A", "ensure C"}, s.log)
		if c := apimeta.FindStatusCondition(p.Status.Conditions, "C"); c == nil || c.Status != status || c.Reason != reason {
			t.Errorf("condition C is %+v, want %s %s", c, status, reason)
		}
		want(t, "reason of Ready", "Broken", apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady).Reason)
		if !apimeta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionStalled) || p.Status.NextRetryTime != nil {
			t.Errorf("want it stalled and no retry, got %v", p.Status.Conditions)
		}
	}
	look(metav1.ConditionTrue, "Seen")
	seen = operator.Unknown("Unreachable", errors.New("no answer"), 0)
	look(metav1.ConditionUnknown, "Unreachable")
	end = operator.Wait("Asleep", "nothing is wrong", time.Minute)
	_, result := s.run(t, r)
	want(t, "phases that ran while one waits", []string{"ensure A"}, s.log)
	want(t, "result", reconcile.Result{RequeueAfter: time.Minute}, result)

	s.delete(t)
	s.run(t, r)
	want(t, "removed while A is broken", []string{"remove C", "remove B", "remove A"}, s.log)
}

func TestUnknownIsTriedAgain(t *testing.T) {
	s := newSubject(t)
	r := operator.New(s.config(s.phase("A", func() operator.Outcome { return operator.Unknown("Unreachable", errors.New("no answer"), 0) }, nil)))
	p, result := s.run(t, r)
	if result.RequeueAfter <= 0 || p.Status.NextRetryTime == nil {
		t.Errorf("it is looked at after %v, next retry %v: want both", result.RequeueAfter, p.Status.NextRetryTime)
	}
	for _, kind := range []string{"A", v1alpha1.ConditionReady} {
		if c := apimeta.FindStatusCondition(p.Status.Conditions, kind); c == nil || c.Status != metav1.ConditionUnknown {
			t.Errorf("condition %s is %v, want Unknown", kind, c)
		}
	}
}

// steps is a backoff that counts its questions.
type steps struct {
	workqueue.TypedRateLimiter[reconcile.Request]
	asked int
}

func (s *steps) When(r reconcile.Request) time.Duration {
	s.asked++
	return s.TypedRateLimiter.When(r)
}

func TestRetry(t *testing.T) {
	s := newSubject(t)
	outcome := operator.Retry("Refused", errors.New("the other side says no"))
	config := s.config(s.phase("A", func() operator.Outcome { return outcome }, nil))
	backoff := &steps{TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Hour, 4*time.Hour)}
	config.Backoff = backoff
	r := operator.New(config)

	before := time.Now().Truncate(time.Second)
	p, result := s.run(t, r)
	if p.Status.NextRetryTime == nil || p.Status.NextRetryTime.Before(&metav1.Time{Time: before.Add(time.Hour)}) {
		t.Fatalf("nextRetryTime is %v, want an hour after %v", p.Status.NextRetryTime, before)
	}
	if result.RequeueAfter <= 0 || result.RequeueAfter > time.Hour {
		t.Errorf("the next run is in %v, want up to an hour", result.RequeueAfter)
	}

	// The status patch triggers a run. Were that a new try, the time would grow at once to its end.
	triggered, again := s.run(t, r)
	want(t, "questions to the backoff", 1, backoff.asked)
	want(t, "nextRetryTime after a run before its time", p.Status.NextRetryTime, triggered.Status.NextRetryTime)
	want(t, "writes of a run that fails the same way", nil, s.writes)
	if again.RequeueAfter > result.RequeueAfter {
		t.Errorf("the run before its time moved the next retry from %v to %v", result.RequeueAfter, again.RequeueAfter)
	}

	outcome = operator.Done("Done", "")
	p, result = s.run(t, r)
	want(t, "nextRetryTime after success", nil, p.Status.NextRetryTime)
	want(t, "result after success", reconcile.Result{}, result)
	want(t, "failures that are remembered after success", 0, backoff.NumRequeues(s.request))
}

func TestBackoffGrows(t *testing.T) {
	s := newSubject(t)
	config := s.config(s.phase("A", func() operator.Outcome { return operator.Retry("Refused", errors.New("no")) }, nil))
	backoff := &steps{TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Nanosecond, time.Hour)}
	config.Backoff = backoff
	r := operator.New(config)
	for range 5 {
		s.run(t, r)
	}
	want(t, "failures in a row", 5, backoff.NumRequeues(s.request))
}

func TestOwnTimeBetweenTries(t *testing.T) {
	s := newSubject(t)
	r := operator.New(s.config(s.phase("A", func() operator.Outcome { return operator.RetryAfter("Refused", errors.New("no"), time.Hour) }, nil)))
	p, result := s.run(t, r)
	if p.Status.NextRetryTime == nil || time.Until(p.Status.NextRetryTime.Time) < 59*time.Minute {
		t.Errorf("nextRetryTime is %v, want it in an hour", p.Status.NextRetryTime)
	}
	if result.RequeueAfter < 59*time.Minute {
		t.Errorf("it is looked at after %v, want an hour", result.RequeueAfter)
	}
}

func TestStalledIsLookedAtNowAndThen(t *testing.T) {
	s := newSubject(t)
	r := operator.New(s.config(s.phase("A", func() operator.Outcome { return operator.Stalled("Broken", "mend it") }, nil)))
	p, result := s.run(t, r)
	want(t, "result", reconcile.Result{RequeueAfter: time.Minute}, result)
	want(t, "nextRetryTime", nil, p.Status.NextRetryTime)
	if !apimeta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Error("Stalled is not true")
	}
}

func TestSoonestTimeCounts(t *testing.T) {
	tests := map[string]struct {
		reason   string
		outcomes []operator.Outcome
		want     time.Duration
	}{
		"DoneUntil":   {"What ages is looked at again.", []operator.Outcome{operator.DoneUntil("Done", "", time.Hour), operator.Done("Done", "")}, time.Hour},
		"Soonest":     {"The soonest of several counts.", []operator.Outcome{operator.DoneUntil("Done", "", time.Hour), operator.DoneUntil("Done", "", time.Minute)}, time.Minute},
		"WaitIsLater": {"A phase that waits does not push away one that ages.", []operator.Outcome{operator.DoneUntil("Done", "", time.Minute), operator.Wait("Waiting", "", time.Hour)}, time.Minute},
		"Never":       {"Without a time only the watch triggers a run.", []operator.Outcome{operator.Done("Done", "")}, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSubject(t)
			var phases []phase
			for i, o := range tc.outcomes {
				phases = append(phases, s.phase(string(rune('A'+i)), func() operator.Outcome { return o }, nil))
			}
			_, result := s.run(t, operator.New(s.config(phases...)))
			want(t, tc.reason, tc.want, result.RequeueAfter)
		})
	}
}

func TestEventsAreSaidOnce(t *testing.T) {
	s := newSubject(t)
	outcome := waits()
	config := s.config(s.phase("A", func() operator.Outcome { return outcome }, nil))
	recorder := events.NewFakeRecorder(10)
	config.Recorder = recorder
	r := operator.New(config)
	s.run(t, r)
	s.run(t, r)
	outcome = operator.Done("Done", "100% there")
	s.run(t, r)
	close(recorder.Events)
	var got []string
	for e := range recorder.Events {
		got = append(got, e)
	}
	all := strings.Join(got, "\n")
	want(t, "events", "Normal Waiting for another\nNormal Done 100% there\nNormal Ready 100% there", all)
}

// TestForeignFinalizer: another controller may hold the object longer than we do.
func TestForeignFinalizer(t *testing.T) {
	s := newSubject(t)
	p := s.get(t)
	p.Finalizers = append(p.Finalizers, "example.com/other")
	if err := s.client.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r := operator.New(s.config(s.phase("A", nil, nil)))
	s.run(t, r)
	s.delete(t)
	if _, err := r.Reconcile(t.Context(), s.request); err != nil {
		t.Fatal(err)
	}
	want(t, "finalizers after ours is dropped", []string{"example.com/other"}, s.get(t).Finalizers)
	s.log = nil
	if _, err := r.Reconcile(t.Context(), s.request); err != nil {
		t.Fatal(err)
	}
	want(t, "phases that ran after ours was dropped", nil, s.log)
}

// TestCacheThatIsBehind: phases do not run on an object as it was before what the run before has written, which a cache may still have.
func TestCacheThatIsBehind(t *testing.T) {
	s := newSubject(t)
	var old *v1alpha1.Provisioner
	says := "begun"
	config := s.config(s.phase("A", func() operator.Outcome { return operator.Done("Done", says) }, nil))
	config.Client = interceptor.NewClient(s.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if old == nil {
				return c.Get(ctx, key, obj, opts...)
			}
			old.DeepCopyInto(obj.(*v1alpha1.Provisioner))
			return nil
		},
	})
	r := operator.New(config)
	before, _ := s.run(t, r)
	says = "ended"
	s.run(t, r)
	old = before
	for range 2 {
		if _, result := s.run(t, r); len(s.log)+len(s.writes) > 0 || result.RequeueAfter <= 0 {
			t.Errorf("it did %v and wrote %v, and is looked at again after %s", s.log, s.writes, result.RequeueAfter)
		}
	}
	old = nil
	if s.run(t, r); !cmp.Equal(s.log, []string{"ensure A"}) {
		t.Errorf("once the cache has it, it did %v", s.log)
	}
}
