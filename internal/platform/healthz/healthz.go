// Package healthz answers "GET /healthz" with 200 for as long as a process runs, so that its supervisor finds out when it hangs.
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

// timeout bounds a request and everything about its connection.
const timeout = 5 * time.Second

// Serve answers on l until ctx ends, and closes l. metrics, when it is not nil, answers "GET /metrics".
func Serve(ctx context.Context, l net.Listener, metrics http.Handler) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	server := &http.Server{Handler: mux, ReadTimeout: timeout, WriteTimeout: timeout, IdleTimeout: timeout, MaxHeaderBytes: 4 << 10}
	defer relay.CloseWhenDone(ctx, server)()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health: %w", err)
	}
	return nil
}
