// Package jobs runs what takes longer than a reconcile may, such as the copying of a data store, beside the reconciler: one job per
// object and name, a few at once, with retries. A reconciler calls [Run] again and again until the job has ended.
//
// It hides which jobs go on, whose turn it is, and when one that failed is tried again. Nothing of it outlives the program: what a job has
// done must be known from what it has changed. Reconcilers with such jobs import it.
package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/share"
)

const (
	// most and mostOfOne are how many jobs go on at once, and of one organization: each reads a data store that all share.
	most, mostOfOne = 3, 2
	// Retry is the time between a failure and the next retry, for reconcilers that know no better.
	Retry = 15 * time.Second
	// timeout bounds a job.
	timeout = 15 * time.Minute
	// turnWait is when a job that found no place asks again.
	turnWait = 2 * time.Second
	// refusedRetry is the time after which it is asked again whether what was refused still is: what it depends on may have changed.
	refusedRetry = 10 * time.Minute
	// unasked is how long an end is remembered of which no reconciler asks, because its object is gone.
	unasked = time.Hour
)

// RefusalError is the error of a job that cannot be done as it is asked for, and that trying again does not mend.
type RefusalError struct{ Reason, Message string }

func (r *RefusalError) Error() string { return r.Message }

// Refuse returns a [*RefusalError]. reason is that of the outcome, and the message names the field.
func Refuse(reason, format string, args ...any) error {
	return &RefusalError{reason, fmt.Sprintf(format, args...)}
}

// Jobs are those of the reconcilers that share it. Make it with New. It is safe for concurrent use.
type Jobs struct {
	life   context.Context //nolint:containedctx // ends the jobs when the program ends, not when one reconcile does
	notify func(uid string)
	start  func(func())
	retry  time.Duration
	places *share.Shares

	mu  sync.Mutex
	all map[string]*state
	// busy is what jobs that go on have for themselves.
	busy map[string]bool
}

// state is what is known of a job that was begun and whose end was not asked for yet.
type state struct {
	running bool
	value   any
	err     error     // of the last try that ended; it stays to be read while the next one runs
	next    time.Time // before it a job that failed is not tried again
}

// Job is one thing to be done.
type Job struct {
	// Of is the UID of the object, and Name what is done for it.
	Of, Name string
	// Organization is whose share of the places it takes.
	Organization string
	// Alone is what no other job may use meanwhile, such as a folder; empty for nothing.
	Alone string
	// Running is the reason of its outcome while it goes on, Message what is being done, and Failing the reason when it has failed.
	Running, Message string
	Failing          func(error) string
	// Retry is the time between a failure and the next retry; zero for that of all.
	Retry time.Duration
}

// New returns Jobs that end with life. notify is called with the UID of an object when a job of it has ended; start runs a job beside its
// caller, which tests replace; retry is the time between a failure and the next retry.
func New(life context.Context, notify func(uid string), start func(func()), retry time.Duration) *Jobs {
	return &Jobs{
		life: life, notify: notify, start: start, retry: retry, places: share.New(most, mostOfOne, 1),
		all: map[string]*state{}, busy: map[string]bool{},
	}
}

// Run returns what a job has ended with, once. Until then, and after a failure, it returns the outcome for the phase instead, and
// begins the job where it does not go on. f gets a copy of an object as it is now: the reconciler writes to its own one while the job goes on.
func Run[O interface{ DeepCopy() O }, T any](j *Jobs, job Job, of O, f func(context.Context, O) (T, error)) (T, *operator.Outcome) {
	var none T
	key, now := job.Of+" "+job.Name, of.DeepCopy()
	j.begin(key, job, func(ctx context.Context) (any, error) { return f(ctx, now) })
	j.mu.Lock()
	defer j.mu.Unlock()
	have := j.all[key]
	switch {
	case have == nil:
		o := operator.Wait(job.Running, job.Message+": waiting for its turn", turnWait)
		return none, &o
	case refusal(have.err) != nil:
		o := operator.Stalled(refusal(have.err).Reason, "%s", refusal(have.err).Message)
		return none, &o
	case have.err != nil:
		o := operator.RetryAfter(job.Failing(have.err), have.err, max(time.Until(have.next), time.Second))
		return none, &o
	case have.running:
		o := operator.Wait(job.Running, job.Message, 0)
		return none, &o
	}
	delete(j.all, key)
	return have.value.(T), nil
}

// begin starts a job unless it goes on, has just ended, or finds no place.
func (j *Jobs) begin(key string, job Job, f func(context.Context) (any, error)) {
	j.mu.Lock()
	j.forget(time.Now())
	have := j.all[key]
	if have != nil && (have.running || have.err == nil || time.Now().Before(have.next)) || job.Alone != "" && j.busy[job.Alone] {
		j.mu.Unlock()
		return
	}
	leave := j.places.Take(job.Organization)
	if leave == nil {
		j.mu.Unlock()
		return
	}
	if have == nil {
		have = &state{}
		j.all[key] = have
	}
	have.running, j.busy[job.Alone] = true, true
	j.mu.Unlock()
	j.start(func() {
		ctx, cancel := context.WithTimeout(j.life, timeout)
		defer cancel()
		value, err := guarded(ctx, job, f)
		leave()
		j.mu.Lock()
		delete(j.busy, job.Alone)
		wait := cmp.Or(job.Retry, j.retry)
		if refusal(err) != nil {
			wait = refusedRetry
		}
		*have = state{value: value, err: err, next: time.Now().Add(wait)}
		j.mu.Unlock()
		j.notify(job.Of)
	})
}

// forget forgets ends that are too old to be asked for: without it, each object that is deleted after a failure would leave one for ever.
// It is called with the lock held.
func (j *Jobs) forget(now time.Time) {
	maps.DeleteFunc(j.all, func(_ string, s *state) bool { return !s.running && now.Sub(s.next) > unasked })
}

// guarded calls f. A panic ends the job and not the program, as one of a reconciler does: what a tenant has made it stumble over must not
// stop the work for all others.
func guarded(ctx context.Context, job Job, f func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v; the log has more", p)
			log.FromContext(ctx).Error(err, "a job has panicked", "of", job.Of, "job", job.Name, "stack", string(debug.Stack()))
		}
	}()
	return f(ctx)
}

// refusal is the one that an error is, or nil.
func refusal(err error) *RefusalError {
	r, _ := errors.AsType[*RefusalError](err)
	return r
}
