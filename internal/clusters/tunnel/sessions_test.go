package tunnel

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// changes are the clusters of which it was told that they have an agent or have lost it.
type changes struct {
	mu  sync.Mutex
	all []string
}

func (c *changes) note(cluster string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, cluster)
}

func (c *changes) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}

func always(context.Context) bool { return true }

// hold keeps a session, and says when that has ended.
func hold(t *testing.T, s *Sessions, cluster string, by *Session, still func(context.Context) bool) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() { ended <- s.Hold(ctx, cluster, by, still) }()
	await(t, func() bool { have, err := s.Of(cluster); return err == nil && have == by })
	return ended
}

// TestHold: the newest connection of an agent counts, and one more cluster than there may be is refused.
func TestHold(t *testing.T) {
	told := &changes{}
	s := NewSessions(1, time.Now, told.note)
	if _, err := s.Open("a"); !errors.Is(err, ErrOffline) {
		t.Errorf("nothing is connected, and it opens: %v", err)
	}
	first, second := connect(t), connect(t)
	before := hold(t, s, "a", first.kqueen, always)
	hold(t, s, "a", second.kqueen, always)
	<-before
	if s.Count() != 1 || !s.Takes("a") || s.Takes("b") {
		t.Errorf("%d are connected, takes a: %v, b: %v", s.Count(), s.Takes("a"), s.Takes("b"))
	}
	await(t, func() bool { return told.count() == 2 })
	other := connect(t)
	if err := s.Hold(t.Context(), "b", other.kqueen, always); !errors.Is(err, ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	<-other.kqueen.Done()
	go echo(second.agent.Listener())
	conn, err := s.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if at, connected := s.Seen("a"); !connected || at.IsZero() {
		t.Errorf("seen at %v, %v", at, connected)
	}
}

// TestRecheck: an agent that may not go on ends, and the others do not.
func TestRecheck(t *testing.T) {
	told := &changes{}
	s := NewSessions(9, time.Now, told.note)
	a, b := connect(t), connect(t)
	var revoked atomic.Bool
	hold(t, s, "a", a.kqueen, func(context.Context) bool { return !revoked.Load() })
	hold(t, s, "b", b.kqueen, always)
	revoked.Store(true)
	for _, cluster := range []string{"a", "b", "none"} {
		s.Recheck(t.Context(), cluster)
	}
	<-a.agent.Done()
	var offline *OfflineError
	if _, err := s.Of("a"); !errors.As(err, &offline) || !offline.Seen.IsZero() {
		t.Errorf("what is known of one that was ended: %v", err)
	}
	if _, err := s.Of("b"); err != nil {
		t.Errorf("the other one: %v", err)
	}
	late := connect(t)
	if err := s.Hold(t.Context(), "c", late.kqueen, func(context.Context) bool { return false }); err != nil {
		t.Error(err)
	}
	if _, err := s.Of("c"); err == nil {
		t.Error("one that was revoked while it connected is held")
	}
}

// TestOffline: an agent has three heartbeats to come again before its cluster is called offline, and so it has when KQueen starts. What is
// said of it is the same at any time.
func TestOffline(t *testing.T) {
	now := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	s := NewSessions(9, func() time.Time { return now }, func(string) {})
	lost := func() *OfflineError {
		t.Helper()
		var offline *OfflineError
		if _, err := s.Of("a"); !errors.As(err, &offline) {
			t.Fatalf("got %v", err)
		}
		return offline
	}
	now = now.Add(LostAfter - 1)
	if lost().Lost {
		t.Error("lost before three heartbeats after the start")
	}
	now = now.Add(1)
	if e := lost(); !e.Lost || !strings.HasSuffix(e.Error(), "since KQueen started") {
		t.Errorf("after three heartbeats: %v, %v", e, e.Lost)
	}
	s.seen["a"] = now
	before := lost()
	now = now.Add(LostAfter)
	if after := lost(); before.Lost || !after.Lost || after.Error() != before.Error() || !strings.HasSuffix(after.Error(), "heard last at 2026-11-25T10:01:00Z") {
		t.Errorf("at first %v, %v; later %v, %v", before, before.Lost, after, after.Lost)
	}
}
