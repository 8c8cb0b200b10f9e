// Package healthz answers "GET /healthz" with 200 for as long as a process works, so that its supervisor finds out when it hangs.
//
// It hides a small HTTP server and its bounds. Processes that KQueen's supervisor starts import it.
package healthz

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"kqueen.io/kqueen/internal/platform/relay"
)

// timeout bounds a request, its answer and the rest between two.
const timeout = 5 * time.Second

// Serve answers on l until ctx ends, and closes l. It answers when alive has returned, which blocks for as long as the process hangs
// and may let go when its context ends; nil where an answer alone says enough. metrics, when it is not nil, answers "GET /metrics".
func Serve(ctx context.Context, l net.Listener, alive func(context.Context), metrics http.Handler) error {
	mux := http.NewServeMux()
	looking := make(chan struct{}, 1)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if alive == nil || returns(r.Context(), looking, alive) {
			_, _ = w.Write([]byte("ok\n"))
		}
	})
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	// Without a ReadTimeout: it would end a request that waits for the process, and no answer is what tells that it hangs.
	server := &http.Server{Handler: mux, ReadHeaderTimeout: timeout, WriteTimeout: timeout, IdleTimeout: timeout, MaxHeaderBytes: 4 << 10}
	defer relay.CloseWhenDone(ctx, server)()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health: %w", err)
	}
	return nil
}

// returns says whether alive returns before ctx ends, which is when the client leaves. One that does not is waited for by those who
// ask later, and not called again: looking has a place for one.
func returns(ctx context.Context, looking chan struct{}, alive func(context.Context)) bool {
	select {
	case looking <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	done := make(chan struct{})
	go func() {
		defer func() { <-looking }()
		alive(ctx)
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
