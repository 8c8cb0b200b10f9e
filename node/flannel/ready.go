package main

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// readyTimeout bounds a request and everything about its connection.
const readyTimeout = 5 * time.Second

// readiness answers the kubelet, which is on the same machine.
type readiness struct {
	yes    atomic.Bool
	server *http.Server
}

func listenReady(address string) (*readiness, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the kubelet: %w", err)
	}
	r := &readiness{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !r.yes.Load() {
			http.Error(w, "the network is not there yet", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	r.server = &http.Server{Handler: mux, ReadTimeout: readyTimeout, WriteTimeout: readyTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: 4 << 10}
	go func() { _ = r.server.Serve(l) }() // it ends with close
	return r, nil
}

func (r *readiness) now() { r.yes.Store(true) }

func (r *readiness) close() { _ = r.server.Close() }
