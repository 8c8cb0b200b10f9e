package backup

import (
	"cmp"
	"context"
	"sync"
	"time"

	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/share"
)

const (
	// mostJobs and mostOfOne are how many long acts go on at once, and of one organization: each reads a data store that all share.
	mostJobs, mostOfOne = 3, 2
	// jobRetry is the retry of jobs.
	jobRetry = 15 * time.Second
	// jobTimeout bounds a long act.
	jobTimeout = 15 * time.Minute
	// turnWait is when an act that found no place asks again.
	turnWait = 2 * time.Second
)

// jobs are long acts, one per key. They end with life.
type jobs struct {
	life   context.Context //nolint:containedctx // ends the acts when the program ends, not when one reconcile does
	notify func(uid string)
	// start runs an act beside the reconciler; tests run it at once.
	start func(func())
	// retry is the time between the end of an act that failed and its next retry.
	retry  time.Duration
	places *share.Shares

	mu  sync.Mutex
	all map[string]*job
	// busy are the buckets in which an act is at work: none removes what another one has just found.
	busy map[string]bool
}

// job is what is known of an act that was begun and whose end was not asked for yet.
type job struct {
	running bool
	value   any
	err     error     // of the last try that ended; it stays to be read while the next one runs
	next    time.Time // before it an act that failed is not tried again
}

// act is one thing to be done.
type act struct {
	// of is the UID of the object, and name what is done for it.
	of, name string
	// organization and bucket say which other acts it may keep waiting.
	organization, bucket string
	// running is the reason of its outcome while it goes on, message what is being done, and failing the reason when it has failed.
	running, message string
	failing          func(error) string
	// retry is the time between a failure and the next retry; zero for that of all.
	retry time.Duration
}

func newJobs(life context.Context, notify func(string), start func(func()), retry time.Duration) *jobs {
	return &jobs{
		life: life, notify: notify, start: start, retry: retry, places: share.New(mostJobs, mostOfOne, 1),
		all: map[string]*job{}, busy: map[string]bool{},
	}
}

// run returns what an act has ended with, once. Until then, and after a failure, it returns the outcome for the phase instead, and
// begins the act where it does not go on.
func run[T any](j *jobs, a act, f func(context.Context) (T, error)) (T, *operator.Outcome) {
	var none T
	key := a.of + " " + a.name
	j.begin(key, a, func(ctx context.Context) (any, error) { return f(ctx) })
	j.mu.Lock()
	defer j.mu.Unlock()
	have := j.all[key]
	switch {
	case have == nil:
		o := operator.Wait(a.running, a.message+": waiting for other backups and restores", turnWait)
		return none, &o
	case have.err != nil:
		o := operator.RetryAfter(a.failing(have.err), have.err, max(time.Until(have.next), time.Second))
		return none, &o
	case have.running:
		o := operator.Wait(a.running, a.message, 0)
		return none, &o
	}
	delete(j.all, key)
	return have.value.(T), nil
}

// begin starts an act unless it goes on, has just ended, or finds no place.
func (j *jobs) begin(key string, a act, f func(context.Context) (any, error)) {
	j.mu.Lock()
	have := j.all[key]
	if have != nil && (have.running || have.err == nil || time.Now().Before(have.next)) || j.busy[a.bucket] {
		j.mu.Unlock()
		return
	}
	leave := j.places.Take(a.organization)
	if leave == nil {
		j.mu.Unlock()
		return
	}
	if have == nil {
		have = &job{}
		j.all[key] = have
	}
	have.running, j.busy[a.bucket] = true, true
	j.mu.Unlock()
	j.start(func() {
		ctx, cancel := context.WithTimeout(j.life, jobTimeout)
		defer cancel()
		value, err := f(ctx)
		leave()
		j.mu.Lock()
		delete(j.busy, a.bucket)
		*have = job{value: value, err: err, next: time.Now().Add(cmp.Or(a.retry, j.retry))}
		j.mu.Unlock()
		j.notify(a.of)
	})
}
