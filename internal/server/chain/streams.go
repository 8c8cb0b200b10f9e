package chain

import (
	"context"
	"net/http"
	"sync"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/problem"
)

// Streams go on for long, so they are counted apart from requests: so many of one caller, and so many in all.
const (
	maxStreamsOfOne = 32
	maxStreams      = 1024
)

const (
	// Heartbeat keeps proxies from taking a quiet stream for a dead one.
	Heartbeat = 15 * time.Second
	// Slowest is how long a client may take to read what is sent. HTTP/2 ends a stream by it, whether something is
	// being sent or not, so that it has to be longer than a heartbeat.
	Slowest = 3 * Heartbeat
	// StreamLife bounds a stream; a client that wants more goes on with Last-Event-ID.
	StreamLife = time.Hour
)

// Streams counts those that are open, and ends them all when the server ends. It is safe for concurrent use.
type Streams struct {
	who *Identities

	mu  sync.Mutex
	of  map[string]int
	all int

	closing chan struct{}
	close   sync.Once
}

func newStreams(who *Identities) *Streams {
	return &Streams{who: who, of: map[string]int{}, closing: make(chan struct{})}
}

// Begin counts a stream, which makes room for another request of the caller. The function that it returns ends it.
func (s *Streams) Begin(ctx context.Context) (end func(), err error) {
	r := Of(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= maxStreams || s.of[r.Caller.Name] >= maxStreamsOfOne {
		return nil, problem.New(http.StatusTooManyRequests, rest.CodeTooMany, "too many streams; end some, and retry")
	}
	s.all++
	s.of[r.Caller.Name]++
	if r.leave != nil {
		r.leave()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.of[r.Caller.Name]--; s.of[r.Caller.Name] == 0 {
			delete(s.of, r.Caller.Name)
		}
	}, nil
}

// Open is how many there are.
func (s *Streams) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// Recheck says whether the caller of a stream is still who they were when it began, with the same roles. An error that is
// no refusal (problem.Refuses) says that this could not be found out.
func (s *Streams) Recheck(ctx context.Context) error { return s.who.recheck(ctx) }

// Closing is closed when streams have to end.
func (s *Streams) Closing() <-chan struct{} { return s.closing }

// Close ends the streams, so that the server can end.
func (s *Streams) Close() { s.close.Do(func() { close(s.closing) }) }

// Detach counts a request no longer, which goes on as a connection that others count: neither among the requests nor among the connections.
// The context that it returns ends with the server.
func (c *Chain) Detach(r *http.Request) (context.Context, context.CancelFunc) {
	Of(r.Context()).leave()
	uncount(r.Context())
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	go func() {
		select {
		case <-ctx.Done():
		case <-c.Streams.Closing():
			cancel()
		}
	}()
	return ctx, cancel
}
