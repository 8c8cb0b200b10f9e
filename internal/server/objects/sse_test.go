package objects

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes listens for connections inside the process, so that a test's time stands still while a handshake is computed.
type pipes struct {
	connections chan net.Conn
	closed      func()
}

func newPipes() pipes {
	connections := make(chan net.Conn)
	return pipes{connections, sync.OnceFunc(func() { close(connections) })}
}

func (p pipes) Accept() (net.Conn, error) {
	c, open := <-p.connections
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error {
	p.closed()
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8443} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p.connections <- there
	return here, nil
}

func TestEventsOutliveTimeouts(t *testing.T) {
	const timeout = time.Second
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprint("http2=", http2), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					out := newSSE(w)
					out.begin()
					select {
					case <-r.Context().Done():
					case <-time.After(5 * timeout):
						_ = out.comment("alive")
					}
				}))
				connections := newPipes()
				if err := server.Listener.Close(); err != nil {
					t.Fatal(err)
				}
				server.Listener = connections
				server.Config.ReadTimeout, server.Config.WriteTimeout, server.EnableHTTP2 = timeout, timeout, http2
				server.StartTLS()
				defer server.Close()
				server.Client().Transport.(*http.Transport).DialContext = connections.dial
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := server.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if got, err := io.ReadAll(resp.Body); err != nil || string(got) != ": alive\n\n" || resp.ProtoMajor != 1 && !http2 {
					t.Errorf("got %q over %s, %v", got, resp.Proto, err)
				}
			})
		})
	}
}
