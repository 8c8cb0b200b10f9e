package kubeapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
)

// follow serves a watch: it is counted as a stream, ends when its caller is not any more who they were, and when the server ends.
// Clients of Kubernetes begin another one then, which says why they may not.
func (h *handler) follow(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), chain.StreamLife)
	defer cancel()
	end, err := h.Chain.Streams.Begin(ctx)
	if err != nil {
		refuse(w, r, problem.Of(err))
		return
	}
	defer end()
	out := &patient{ResponseWriter: w, control: http.NewResponseController(w)}
	_ = out.control.SetReadDeadline(time.Time{})
	out.extend()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		h.attend(ctx, out)
	}()
	h.proxy.ServeHTTP(out, r.WithContext(ctx))
	cancel()
	<-ended
}

// attend keeps a watch open for as long as it may be, also when nothing is sent.
func (h *handler) attend(ctx context.Context, out *patient) {
	beat := time.NewTicker(chain.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.Chain.Streams.Closing():
			return
		case <-beat.C:
			if err := h.Chain.Streams.Recheck(ctx); err != nil && problem.Refuses(err) {
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
		_ = p.control.SetWriteDeadline(time.Now().Add(chain.Slowest))
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
