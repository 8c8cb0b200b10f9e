// Package ready answers the kubelet's readiness probe for a program that works in the background.
package ready

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// readTimeout is for the header of a probe.
const readTimeout = 5 * time.Second

// Serve runs work, and answers "GET /readyz" at host:port with 200 once work has called up, and with 503 before. Without an address
// it answers nothing. It returns when work does, with its error, or when it cannot listen.
func Serve(ctx context.Context, address string, work func(ctx context.Context, up func()) error) error {
	if address == "" {
		return work(ctx, func() {})
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for readiness probes: %w", err)
	}
	var up atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: readTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	err = work(ctx, func() { up.Store(true) })
	_ = server.Close() // no probe is answered any more
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("answer readiness probes: %w", ended))
	}
	return err
}
