package tunnel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// ErrOffline says that no agent of a cluster is connected.
var ErrOffline = errors.New("its agent is not connected")

// OfflineError is ErrOffline with the last sign of life.
type OfflineError struct {
	// Seen is when the agent was heard last; zero when it was not since KQueen began.
	Seen time.Time
	// Lost says that it had [LostAfter] to come again, and has not.
	Lost bool
}

// Error says since when the agent is gone: the same words at any time.
func (e *OfflineError) Error() string {
	if e.Seen.IsZero() {
		return ErrOffline.Error() + ", and was not since KQueen started"
	}
	return fmt.Sprintf("%v; it was heard last at %s", ErrOffline, e.Seen.UTC().Format(time.RFC3339))
}

// Is makes it ErrOffline.
func (e *OfflineError) Is(err error) bool { return err == ErrOffline }

// held is a session, and what says whether it may go on.
type held struct {
	*Session
	still func(context.Context) bool
}

// Sessions are the agents that are connected, by the UID of their cluster. Make it with NewSessions. It is safe for concurrent use.
type Sessions struct {
	most   int
	now    func() time.Time
	change func(cluster string)
	began  time.Time

	mu   sync.Mutex
	live map[string]*held
	// seen is when the agent was heard last of a cluster that has none now.
	seen map[string]time.Time
}

// NewSessions returns an empty collection of so many at most. changed is called when the agent of a cluster has come, also when it
// comes again, and when it is lost: not where it came again in time.
func NewSessions(most int, now func() time.Time, changed func(cluster string)) *Sessions {
	return &Sessions{most: most, now: now, change: changed, began: now(), live: map[string]*held{}, seen: map[string]time.Time{}}
}

// ErrFull says that as many agents are connected as may be.
var ErrFull = errors.New("there are too many agents")

// Takes says whether an agent of a cluster can be held: those that there are at most may be there.
func (s *Sessions) Takes(cluster string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[cluster] != nil || len(s.live) < s.most
}

// Hold keeps a session as that of a cluster until it ends, ctx ends, or nothing was heard for [LostAfter], and closes it then. It
// returns [ErrFull] when there are too many, and nothing else. A
// session that the cluster had before ends at once: the agent has lost it, and does not know for how long it would be kept here.
//
// still is asked whether the agent may go on: at the beginning, because what it has shown may have been revoked since, and by
// [Sessions.Recheck].
func (s *Sessions) Hold(ctx context.Context, cluster string, by *Session, still func(context.Context) bool) error {
	session := &held{by, still}
	if err := s.take(cluster, session); err != nil {
		session.Close()
		return err
	}
	s.Recheck(ctx, cluster)
	s.change(cluster)
	look := time.NewTicker(Heartbeat / 2)
	defer look.Stop()
	for alive := true; alive; {
		select {
		case <-ctx.Done():
			alive = false
		case <-session.Done():
			alive = false
		case <-look.C:
			alive = s.now().Sub(session.Heard()) < LostAfter
		}
	}
	session.Close()
	if s.leave(cluster, session) {
		s.await(ctx, cluster)
	}
	return nil
}

func (s *Sessions) take(cluster string, session *held) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	former := s.live[cluster]
	if former == nil && len(s.live) >= s.most {
		return ErrFull
	}
	s.live[cluster] = session
	delete(s.seen, cluster)
	if former != nil {
		go former.Close() // it waits for what is being written
	}
	return nil
}

// leave says whether the cluster has no agent now.
func (s *Sessions) leave(cluster string, session *held) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[cluster] != session {
		return false
	}
	delete(s.live, cluster)
	s.seen[cluster] = session.Heard()
	return true
}

// await tells of a cluster whose agent does not come again in time.
func (s *Sessions) await(ctx context.Context, cluster string) {
	wait := time.NewTimer(LostAfter - s.now().Sub(s.lastSeen(cluster)))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return
	case <-wait.C:
	}
	if _, err := s.Of(cluster); err != nil {
		s.change(cluster)
	}
}

func (s *Sessions) lastSeen(cluster string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[cluster]
}

// Of returns the session of a cluster. [*OfflineError] when there is none.
func (s *Sessions) Of(cluster string) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.live[cluster]; session != nil {
		return session.Session, nil
	}
	seen, since := s.seen[cluster], s.began
	if !seen.IsZero() {
		since = seen
	}
	return nil, &OfflineError{seen, s.now().Sub(since) >= LostAfter}
}

// Recheck ends the session of a cluster whose agent may not go on.
func (s *Sessions) Recheck(ctx context.Context, cluster string) {
	s.mu.Lock()
	session := s.live[cluster]
	s.mu.Unlock()
	if session != nil && !session.still(ctx) {
		s.End(cluster)
	}
}

// End ends the session of a cluster, and forgets that there was one.
func (s *Sessions) End(cluster string) {
	s.mu.Lock()
	session := s.live[cluster]
	delete(s.live, cluster)
	delete(s.seen, cluster)
	s.mu.Unlock()
	if session != nil {
		session.Close()
		s.change(cluster)
	}
}

// Open opens a stream to the agent of a cluster.
func (s *Sessions) Open(cluster string) (net.Conn, error) {
	session, err := s.Of(cluster)
	if err != nil {
		return nil, err
	}
	return session.Open()
}

// Seen is when the agent of a cluster was heard last, and whether one is connected; zero when none was since KQueen began.
func (s *Sessions) Seen(cluster string) (at time.Time, connected bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.live[cluster]; session != nil {
		return session.Heard(), true
	}
	return s.seen[cluster], false
}

// Count is how many agents are connected.
func (s *Sessions) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}
