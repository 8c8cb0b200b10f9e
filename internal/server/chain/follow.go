package chain

import (
	"context"
	"net/http"
	"sync"
	"time"

	"kqueen.io/kqueen/internal/server/problem"
)

// Follow serves what goes on for long, such as a watch: it is counted as a stream, and ends within StreamLife, when the server ends, and
// when still says that its caller may not go on. Clients begin another one then, which says why they may not. still is asked at every
// heartbeat; an error that is no refusal (problem.Refuses) ends nothing. What Follow returns was not served.
func (c *Chain) Follow(w http.ResponseWriter, r *http.Request, still func(context.Context) error, serve func(http.ResponseWriter, *http.Request)) error {
	ctx, cancel := context.WithTimeout(r.Context(), StreamLife)
	defer cancel()
	end, err := c.Streams.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	out := &patient{ResponseWriter: w, control: http.NewResponseController(w)}
	_ = out.control.SetReadDeadline(time.Time{})
	out.extend()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		c.attend(ctx, out, still)
	}()
	serve(out, r.WithContext(ctx))
	cancel()
	<-ended
	return nil
}

// attend keeps a stream open for as long as it may be, also when nothing is sent.
func (c *Chain) attend(ctx context.Context, out *patient, still func(context.Context) error) {
	beat := time.NewTicker(Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.Streams.Closing():
			return
		case <-beat.C:
			if err := still(ctx); err != nil && problem.Refuses(err) {
				return
			}
			out.extend()
		}
	}
}

// patient waits so long for a client that does not read, and no longer. HTTP/2 ends a quiet stream by the same time, so that it
// is moved on while nothing is being sent.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController

	mu      sync.Mutex
	writing bool
}

// extend moves the time on, unless a write is waiting for the client.
func (p *patient) extend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.writing {
		_ = p.control.SetWriteDeadline(time.Now().Add(Slowest))
	}
}

func (p *patient) set(writing bool) {
	p.extend()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing = writing
}

// Write bounds how long the client is waited for.
func (p *patient) Write(data []byte) (int, error) {
	p.set(true)
	defer p.set(false)
	return p.ResponseWriter.Write(data)
}

// FlushError implements what http.ResponseController flushes by. It waits for the client, too.
func (p *patient) FlushError() error {
	p.set(true)
	defer p.set(false)
	return p.control.Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
