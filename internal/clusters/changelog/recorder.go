package changelog

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

const (
	// retryFirst and retryMost are the times between a failure and the next retry.
	retryFirst = 2 * time.Second
	retryMost  = time.Minute
	// trimEvery is the time between two looks at what is not needed any more.
	trimEvery = time.Hour
)

// recorder records one target, as one session after the other.
type recorder struct {
	Config
	measures *measures
	stop     context.CancelFunc
	done     chan struct{} // closed when it has ended
	flushes  chan flush
	wake     chan struct{} // there is something to trim

	mu   sync.Mutex
	of   Target
	is   Known
	need Need
	// trimmed is when it was last removed what is not needed.
	trimmed time.Time
}

// flush asks for all that was written until it was asked.
type flush struct{ answer chan error }

func (r *recorder) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (r *recorder) target() Target {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of
}

func (r *recorder) update(t Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of = t
}

func (r *recorder) known() Known {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.is
	is.Logs = slices.Clone(is.Logs)
	return is
}

// learn changes what is known, and notifies where that is of interest to others.
func (r *recorder) learn(news bool, change func(*Known)) {
	r.mu.Lock()
	change(&r.is)
	owner := r.of.Log.Owner
	r.mu.Unlock()
	if news {
		r.Notify(owner)
	}
}

func (r *recorder) trim(need Need) {
	r.mu.Lock()
	r.need = need
	due := r.Now().Sub(r.trimmed) >= trimEvery
	r.mu.Unlock()
	if !due {
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// flush has a session write all that was written to the cluster until now.
func (r *recorder) flush(ctx context.Context) error {
	f := flush{make(chan error, 1)}
	select {
	case r.flushes <- f:
	case <-r.done:
		return notYet("changes are not recorded any more")
	case <-ctx.Done():
		return fmt.Errorf("changes are not being recorded: %w", errors.Join(r.known().Problem, ctx.Err()))
	}
	select {
	case err := <-f.answer:
		return err
	case <-r.done:
		return notYet("changes are not recorded any more")
	case <-ctx.Done():
		return fmt.Errorf("write the changes that were made until now: %w", ctx.Err())
	}
}

// run records until ctx ends.
func (r *recorder) run(ctx context.Context) {
	defer close(r.done)
	pause := retryFirst
	for ctx.Err() == nil {
		began := r.Now()
		err := r.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if r.Now().Sub(began) > retryMost {
			pause = retryFirst
		}
		r.learn(r.known().Problem == nil, func(is *Known) { is.Problem = err })
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
		}
		wait.Stop()
		pause = min(2*pause, retryMost)
	}
}

// session records from where the log ends until ctx ends or there is an error.
func (r *recorder) session(ctx context.Context) (err error) {
	of := r.target()
	in, err := r.Open(ctx, of)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	state, err := r.State(ctx, of.ControlPlane)
	if err != nil {
		return err
	}
	tail, err := r.resume(ctx, in, state, of.Log)
	if err != nil {
		return err
	}
	watched, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &session{recorder: r, in: in, state: state, cancel: cancel, tail: tail, written: r.Now()}
	r.learn(true, func(is *Known) { is.Problem, is.Complete = nil, tail.Complete })
	err = s.record(ctx, state.Watch(watched, tail.Until))
	if errors.Is(err, datastore.ErrCompacted) { // no session of this log can go on
		return r.begin(ctx, in, state, of.Log, "more was changed while nothing was recorded than the data store remembers")
	}
	return err
}

// resume finds the end of the last log, as an empty segment behind it, or begins a log.
func (r *recorder) resume(ctx context.Context, in backupstore.Opened, state State, of archive.Log) (archive.Segment, error) {
	logs, err := archive.Logs(ctx, in)
	if err != nil {
		return archive.Segment{}, err
	}
	if len(logs) == 0 {
		return r.beginning(ctx, in, state, of, "")
	}
	last, err := r.lastOf(ctx, in, logs, of)
	if bad, ok := errors.AsType[*archive.DamagedError](err); ok {
		return r.beginning(ctx, in, state, of, bad.Problem)
	}
	if err != nil {
		return archive.Segment{}, err
	}
	if !maps.Equal(last.Trust, TrustOf(r.target().ControlPlane)) {
		return r.beginning(ctx, in, state, of, "the keys of the control plane were replaced")
	}
	now, err := state.Revision(ctx)
	if err != nil {
		return archive.Segment{}, err
	}
	same, err := samePast(ctx, state, last)
	if err != nil {
		return archive.Segment{}, err
	}
	if now < last.Until || !same {
		return r.beginning(ctx, in, state, of, "the data store has another past than what was recorded of it, as after a restore of its files")
	}
	r.learn(false, func(is *Known) { is.Logs = keptOf(logs) })
	return archive.Segment{
		Log: last.Log, After: last.Until, Until: last.Until, CaughtUp: now, Since: latest(r.Now(), last.Complete), Complete: last.Complete,
	}, nil
}

// samePast says whether the data store still knows the last change of a segment, or may have forgotten it.
func samePast(ctx context.Context, state State, last archive.Segment) (bool, error) {
	if len(last.Changes) == 0 {
		return true, nil
	}
	c := last.Changes[len(last.Changes)-1]
	had, err := state.Had(ctx, datastore.Write{Entry: datastore.Entry{Key: c.Key, Value: c.Value}, Revision: c.Revision, Removed: c.Removed})
	if errors.Is(err, datastore.ErrCompacted) { // the watch will tell whether that is too much
		return true, nil
	}
	return had, err
}

// lastOf reads the last segment of the last log.
func (r *recorder) lastOf(ctx context.Context, in backupstore.Opened, logs map[string][]int64, of archive.Log) (archive.Segment, error) {
	of.Name = slices.Max(slices.Collect(maps.Keys(logs)))
	afters := logs[of.Name]
	return archive.ReadSegment(ctx, in, in.Keys, of, afters[len(afters)-1])
}

// beginning begins a log and returns its end.
func (r *recorder) beginning(ctx context.Context, in backupstore.Opened, state State, of archive.Log, why string) (archive.Segment, error) {
	if err := r.begin(ctx, in, state, of, why); err != nil {
		return archive.Segment{}, err
	}
	logs, err := archive.Logs(ctx, in)
	if err != nil {
		return archive.Segment{}, err
	}
	last, err := r.lastOf(ctx, in, logs, of)
	return archive.Segment{Log: last.Log, After: last.Until, Until: last.Until, Since: last.Complete, Complete: last.Complete}, err
}

// begin begins a log, with an empty segment, and says why where there was one before.
func (r *recorder) begin(ctx context.Context, in backupstore.Opened, state State, of archive.Log, why string) error {
	now, err := state.Revision(ctx)
	if err != nil {
		return err
	}
	at := r.Now().UTC().Truncate(time.Millisecond)
	var chance [4]byte
	_, _ = rand.Read(chance[:]) // it never fails
	of.Name = NameOf(at, binary.BigEndian.Uint32(chance[:]))
	if err := r.put(ctx, in, archive.Segment{Log: of, After: now, Until: now, Since: at, Complete: at}); err != nil {
		return err
	}
	logs, err := archive.Logs(ctx, in)
	if err != nil {
		return err
	}
	if why != "" {
		r.measures.interrupted.Inc()
	}
	r.learn(true, func(is *Known) { is.Logs, is.Broken = keptOf(logs), why })
	return nil
}

// put writes a segment.
func (r *recorder) put(ctx context.Context, in backupstore.Opened, s archive.Segment) error {
	cp := r.target().ControlPlane
	s.Version, s.Trust = cp.Status.Version, TrustOf(cp)
	if err := archive.WriteSegment(ctx, in, in.Keys, s); err != nil {
		return fmt.Errorf("record changes: %w", err)
	}
	return nil
}

func keptOf(logs map[string][]int64) []Kept {
	var all []Kept
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		all = append(all, Kept{name, began(name), logs[name][0]})
	}
	return all
}

// latest is the later of two times, in whole milliseconds: a clock that goes back takes nothing out of order.
func latest(now, before time.Time) time.Time {
	now = now.UTC().Truncate(time.Millisecond)
	if now.Before(before) {
		return before
	}
	return now
}
