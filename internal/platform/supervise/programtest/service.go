package programtest

import (
	"context"
	"net"
	"net/http"
	"os"
	"time"
)

// offer answers calls of gRPC. What the program lacks it lacks from its start to its end.
func (b behaviour) offer() error {
	_ = os.Remove(b.grpc) // of an earlier life
	l, err := new(net.ListenConfig).Listen(context.Background(), "unix", b.grpc)
	if err != nil {
		return err
	}
	lacks := false
	if b.without != "" {
		_, err := os.Stat(b.without)
		lacks = err == nil
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		if lacks || r.URL.Path != "/test.Service/Ask" {
			w.Header().Set("Grpc-Status", "12")
			w.WriteHeader(http.StatusOK)
			return
		}
		_, _ = w.Write(make([]byte, 5))
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	})
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	go func() {
		_ = (&http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, Protocols: protocols}).Serve(l)
	}()
	return nil
}
