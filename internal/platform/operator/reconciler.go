package operator

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Object is a kind of KQueen: every kind has the shared part of the status.
type Object interface {
	client.Object
	Shared() *v1alpha1.Status
}

// Phase is one step of a reconciler.
type Phase[T Object] struct {
	// Condition is the type of the condition that this phase owns.
	Condition string
	// Ensure moves the world one step towards the object's spec. It may set fields of the
	// object's status other than the shared ones; they are written with the one patch.
	Ensure func(context.Context, T) Outcome
	// Remove removes what Ensure made. Nil when there is nothing to remove.
	Remove func(context.Context, T) Outcome
	// Leaving says that the condition is about what Remove does: it becomes true when that is done.
	// Conditions of other phases say that something is there, and are false from then on.
	Leaving bool
	// Observes says that others act on the condition alone. Ensure runs even when a phase before it has failed (Retry, Unknown, Stalled): otherwise
	// the condition would go on to say what was seen last, perhaps in an earlier life of KQueen. Ready and the time of the next retry are those of the failure.
	Observes bool
}

// Config is what a Reconciler is made of. All fields but Ready, Recorder and Backoff are required.
type Config[T Object] struct {
	Client client.Client
	// New returns an empty object to fetch into.
	New func() T
	// Finalizer is put on the object before the first phase runs and goes when all phases have
	// removed what they made. Empty when no phase has a Remove.
	Finalizer string
	Phases    []Phase[T]
	// Ready is what the condition Ready says to users while it is true. Empty for what the last phase says.
	Ready string
	// Recorder gets an event for each condition that changes. Nil for none.
	Recorder events.EventRecorder
	// Backoff is the time between tries, per object. Nil for 0.2 s growing to a minute.
	Backoff workqueue.TypedRateLimiter[reconcile.Request]
}

// Reconciler runs the phases of one kind. It is a reconcile.Reconciler.
type Reconciler[T Object] struct {
	Config[T]

	mu sync.Mutex
	// due is when an object is retried next, by request, while a step of it is to be tried again.
	due map[reconcile.Request]time.Time
	// written is the resource version of what was last written of an object, until it is read again.
	written map[reconcile.Request]string
}

const (
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = time.Minute
	// stalledLook is when a stalled object is looked at again: what helped may be nothing that is watched.
	stalledLook = time.Minute
)

// New returns a reconciler of the phases in c.
func New[T Object](c Config[T]) *Reconciler[T] {
	if c.Backoff == nil {
		c.Backoff = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, lastBackoff)
	}
	return &Reconciler[T]{Config: c, due: map[reconcile.Request]time.Time{}, written: map[reconcile.Request]string{}}
}

// Reconcile brings the world one run closer to the object's spec and writes the object's status
// once. Errors are returned only for the kit's own calls to the API; a phase's error is in the status.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	obj := r.New()
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		r.forget(req)
		r.gone(req)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if r.behind(req, obj) {
		return reconcile.Result{RequeueAfter: cacheWait}, nil
	}
	read := obj.GetResourceVersion()
	deleting := !obj.GetDeletionTimestamp().IsZero()
	if deleting && !controllerutil.ContainsFinalizer(obj, r.Finalizer) {
		return reconcile.Result{}, nil
	}
	// The finalizer is written before the first phase creates anything: a crash in between would leak it.
	if !deleting && r.Finalizer != "" {
		if err := r.addFinalizer(ctx, obj); err != nil {
			return reconcile.Result{}, err
		}
	}
	before := obj.DeepCopyObject().(T)
	results, after := r.run(ctx, obj, deleting)
	if deleting && allDone(results) {
		r.forget(req)
		return reconcile.Result{}, r.dropFinalizer(ctx, obj)
	}
	after = r.schedule(req, obj, results, after)
	shared := obj.Shared()
	shared.Conditions = summarize(shared.Conditions, results, r.Ready, obj.GetGeneration(), deleting)
	shared.ObservedGeneration = obj.GetGeneration()
	if err := r.patchStatus(ctx, before, obj); err != nil {
		return reconcile.Result{}, err
	}
	if obj.GetResourceVersion() != read {
		r.wrote(req, obj)
	}
	r.announce(obj, before.Shared().Conditions, shared.Conditions)
	return reconcile.Result{RequeueAfter: after}, nil
}

// run runs the phases until one ends the run, and returns the soonest time at which one wants to run again.
func (r *Reconciler[T]) run(ctx context.Context, obj T, deleting bool) ([]result, time.Duration) {
	var results []result
	var soonest time.Duration
	ended, failed := false, false
	for i := range r.Phases {
		phase, act := r.Phases[i], r.Phases[i].Ensure
		if deleting {
			phase = r.Phases[len(r.Phases)-1-i]
			act = phase.Remove
		}
		if act == nil || ended && (deleting || !failed || !phase.Observes) {
			continue
		}
		outcome := act(ctx, obj)
		tell(ctx, phase.Condition, outcome)
		outcome.late = ended
		results = append(results, result{phase.Condition, outcome, phase.Leaving})
		if outcome.after > 0 && (soonest == 0 || outcome.after < soonest) {
			soonest = outcome.after
		}
		ended = ended || !outcome.IsDone() && (deleting || outcome.kind > warned)
		failed = failed || outcome.kind > waiting
	}
	return results, soonest
}

// decisive is what ended the run; done for one without phases.
func decisive(results []result) Outcome {
	last := Outcome{}
	for _, r := range results {
		if !r.outcome.late {
			last = r.outcome
		}
	}
	return last
}

// schedule decides when the object is looked at again and says so in its status.
func (r *Reconciler[T]) schedule(req reconcile.Request, obj T, results []result, after time.Duration) time.Duration {
	obj.Shared().NextRetryTime = nil
	last := decisive(results)
	if last.kind == stalled {
		after = stalledLook
	}
	if last.kind != retrying {
		r.forget(req)
		return after
	}
	due := time.Now().Add(last.after)
	if last.after == 0 {
		due = r.dueAt(req)
	}
	if delay := time.Until(due); after == 0 || delay < after {
		after = max(delay, time.Millisecond)
	}
	next := metav1.NewTime(due.Truncate(time.Second))
	obj.Shared().NextRetryTime = &next
	return after
}

// dueAt returns when the object is tried again. A try that comes before that time does not move it:
// our own status patch triggers a run, and the time between tries would grow to its end within a moment.
func (r *Reconciler[T]) dueAt(req reconcile.Request) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if due := r.due[req]; due.After(now) {
		return due
	}
	r.due[req] = now.Add(r.Backoff.When(req))
	return r.due[req]
}

// forget ends the row of tries: the next one that does not succeed is the first again.
func (r *Reconciler[T]) forget(req reconcile.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.due, req)
	r.Backoff.Forget(req)
}

func (r *Reconciler[T]) addFinalizer(ctx context.Context, obj T) error {
	base := obj.DeepCopyObject().(T)
	if !controllerutil.AddFinalizer(obj, r.Finalizer) {
		return nil
	}
	// The lock refuses the patch when another client changed the list of finalizers meanwhile.
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, obj, patch); err != nil {
		return fmt.Errorf("add finalizer %s: %w", r.Finalizer, err)
	}
	return nil
}

func (r *Reconciler[T]) dropFinalizer(ctx context.Context, obj T) error {
	base := obj.DeepCopyObject().(T)
	controllerutil.RemoveFinalizer(obj, r.Finalizer)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(r.Client.Patch(ctx, obj, patch)); err != nil {
		return fmt.Errorf("drop finalizer %s: %w", r.Finalizer, err)
	}
	return nil
}

// patchStatus writes the difference, or nothing when there is none.
func (r *Reconciler[T]) patchStatus(ctx context.Context, before, obj T) error {
	patch := client.MergeFrom(before)
	data, err := patch.Data(obj)
	if err != nil {
		return fmt.Errorf("compare status: %w", err)
	}
	if string(data) == "{}" {
		return nil
	}
	if err := client.IgnoreNotFound(r.Client.Status().Patch(ctx, obj, patch)); err != nil {
		return fmt.Errorf("patch status: %w", err)
	}
	return nil
}

func allDone(results []result) bool {
	return decisive(results).IsDone()
}
