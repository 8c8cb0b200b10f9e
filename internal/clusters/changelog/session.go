package changelog

import (
	"context"
	"errors"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

const (
	// writeAfter is how long a change may wait for being written.
	writeAfter = 5 * time.Second
	// idleAfter is how long it may wait that nothing was changed, or nothing but Leases: less than etcd keeps what was written, so that a
	// recorder that comes back finds what it missed.
	idleAfter = 2 * time.Minute
	// mostTail is from how many bytes of changes on a segment is not written again, and tailAge from what age on.
	mostTail = 256 << 10
	tailAge  = time.Hour
	// askEvery is the time between two questions whether all is told, where that is waited for.
	askEvery = 200 * time.Millisecond
	// lookEvery is the time between two looks at whether something is to be written.
	lookEvery = time.Second
	// writeTimeout bounds the writing of segments. While it lasts, what is told is held in memory.
	writeTimeout = time.Minute
)

// session gathers changes and writes them.
type session struct {
	*recorder
	in     backupstore.Opened
	state  State
	cancel context.CancelFunc // of the watch

	// full are segments that are not written yet and do not grow any more; tail is the one behind them.
	full  []archive.Segment
	tail  archive.Segment
	bytes int
	// changed is when the first change came that is not written; zero for none. told says that something else was told since then.
	changed time.Time
	told    bool
	written time.Time

	// waiting are those who wait for all until a revision, and asked is when they asked.
	waiting []flush
	until   int64
	asked   time.Time
}

var (
	// errLate says that the watch was ended, because its writes could not be written.
	errLate = errors.New("record changes: the backup store did not take them within a minute")
	// errEnded says that no one writes what was waited for.
	errEnded = errors.New("the recording of changes was interrupted")
)

// record gathers and writes what is told until ctx ends or there is an error.
func (s *session) record(ctx context.Context, told <-chan datastore.Writes) (err error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	ask := time.NewTicker(askEvery)
	ask.Stop()
	defer ask.Stop()
	defer func() { s.answer(errors.Join(err, errEnded)) }()
	for {
		select {
		case w, open := <-told:
			switch {
			case ctx.Err() != nil:
				return s.last(ctx)
			case !open:
				return errLate
			case w.Err != nil: // what was told before is still true
				return errors.Join(w.Err, s.write(ctx))
			}
			s.take(w)
		case <-look.C:
		case <-ask.C:
			err = s.state.AskProgress(ctx)
		case f := <-s.flushes:
			if err = s.wait(ctx, f); err == nil {
				ask.Reset(askEvery)
				err = s.state.AskProgress(ctx)
			}
		case <-s.wake:
			err = s.remove(ctx)
		case <-ctx.Done():
			return s.last(ctx)
		}
		if err == nil {
			err = s.settle(ctx, ask)
		}
		if err != nil {
			return err
		}
	}
}

// settle writes what is due, and answers those who wait for what is written.
func (s *session) settle(ctx context.Context, ask *time.Ticker) error {
	reached := len(s.waiting) > 0 && s.tail.Until >= s.until
	if reached {
		s.complete(s.asked)
		ask.Stop()
	}
	if !reached && !s.due(s.Now()) {
		return nil
	}
	if err := s.write(ctx); err != nil {
		return err
	}
	if reached {
		s.answer(nil)
	}
	return nil
}

// wait notes who wants all that was written until now.
func (s *session) wait(ctx context.Context, f flush) error {
	s.waiting = append(s.waiting, f)
	asked := s.Now()
	now, err := s.state.Revision(ctx)
	s.until, s.asked = now, asked
	return err
}

func (s *session) answer(err error) {
	for _, f := range s.waiting {
		f.answer <- err
	}
	s.waiting = nil
}

// due says whether it is time to write.
func (s *session) due(now time.Time) bool {
	return len(s.full) > 0 || s.bytes >= mostTail || !s.changed.IsZero() && now.Sub(s.changed) >= writeAfter || s.told && now.Sub(s.written) >= idleAfter
}

// take adds what was told.
func (s *session) take(w datastore.Writes) {
	now := latest(s.Now(), s.tail.Complete)
	if now.Before(s.tail.Since) {
		now = s.tail.Since
	}
	for _, x := range w.All {
		if s.Skip(x.Key) {
			continue
		}
		at := now
		if x.Revision <= s.tail.CaughtUp {
			at = s.tail.Since
		}
		if s.bytes >= mostTail && x.Revision > s.tail.Until { // one revision is in one segment
			s.roll(now)
		}
		s.tail.Changes = append(s.tail.Changes, archive.Change{Revision: x.Revision, Time: at, Key: x.Key, Value: x.Value, Removed: x.Removed})
		s.measures.written.Inc()
		s.tail.Until, s.bytes = x.Revision, s.bytes+len(x.Key)+len(x.Value)
		if s.changed.IsZero() && !strings.HasPrefix(x.Key, leases) {
			s.changed = s.Now()
		}
	}
	s.tail.Until, s.told = max(s.tail.Until, w.Until), true
	s.complete(now)
}

// leases are renewed all the time: they alone are not worth a write.
const leases = "leases/"

// complete notes that no change until a time is missing, once those that were made before the session are there.
func (s *session) complete(at time.Time) {
	if s.tail.Until >= s.tail.CaughtUp {
		s.tail.Complete = latest(latest(at, s.tail.Since), s.tail.Complete)
	}
}

// roll begins another segment.
func (s *session) roll(now time.Time) {
	s.complete(now)
	end := s.tail
	s.full = append(s.full, end)
	s.tail, s.bytes = archive.Segment{Log: end.Log, After: end.Until, Until: end.Until, Since: end.Complete, Complete: end.Complete}, 0
	if end.Until < end.CaughtUp {
		s.tail.CaughtUp, s.tail.Since = end.CaughtUp, end.Since
	}
}

// write writes what there is.
func (s *session) write(ctx context.Context) error {
	// A folder that hangs holds this up, and not the memory: the watch ends, and another session finds what it missed.
	late := time.AfterFunc(writeTimeout, s.cancel)
	defer late.Stop()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	for len(s.full) > 0 {
		if err := s.put(ctx, s.in, s.full[0]); err != nil {
			return err
		}
		s.full = s.full[1:]
	}
	if s.tail.Until > s.tail.After || s.tail.Complete.After(s.tail.Since) {
		if err := s.put(ctx, s.in, s.tail); err != nil {
			return err
		}
	}
	s.written, s.changed, s.told = s.Now(), time.Time{}, false
	complete := s.tail.Complete
	s.learn(false, func(is *Known) { is.Complete = complete })
	if s.bytes >= mostTail || s.tail.Complete.Sub(s.tail.Since) >= tailAge {
		s.roll(s.tail.Complete)
		s.full = nil // it is written
	}
	return nil
}

// last writes what is there when the recording ends.
func (s *session) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeAfter)
	defer cancel()
	return s.write(ctx)
}

// remove removes what is not needed any more.
func (s *session) remove(ctx context.Context) error {
	s.mu.Lock()
	need := s.need
	s.trimmed = s.Now()
	s.mu.Unlock()
	logs, err := archive.Logs(ctx, s.in)
	if err != nil {
		return err
	}
	for name, afters := range surplus(logs, need, mostSegments) {
		of := s.tail.Log
		of.Name = name
		for _, after := range afters {
			if err := archive.RemoveSegment(ctx, s.in, of, after); err != nil {
				return err
			}
		}
	}
	if logs, err = archive.Logs(ctx, s.in); err != nil {
		return err
	}
	s.learn(false, func(is *Known) { is.Logs = keptOf(logs) })
	return nil
}
