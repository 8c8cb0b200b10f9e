package tunnel

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"
)

var quietly = slog.New(slog.DiscardHandler)

// ends are the two ends of a connection.
type ends struct{ kqueen, agent *Session }

func connect(t *testing.T) ends {
	t.Helper()
	var e ends
	accepted := make(chan *Session, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := Accept(w, r, quietly)
		if err != nil {
			t.Errorf("accept: %v", err)
		}
		accepted <- session
		<-session.Done()
	}))
	t.Cleanup(s.Close)
	var err error
	ctx, cancel := context.WithCancel(t.Context())
	if e.agent, err = Dial(ctx, s.Client(), s.URL, nil, quietly); err != nil {
		t.Fatal(err)
	}
	cancel() // it bounds connecting alone
	e.kqueen = <-accepted
	t.Cleanup(func() { e.agent.Close(); e.kqueen.Close() })
	return e
}

// echo answers what comes with the same.
func echo(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}()
	}
}

// TestStreams: KQueen opens streams to the agent, and one that is not read keeps no other one waiting.
func TestStreams(t *testing.T) {
	e := connect(t)
	go echo(e.agent.Listener())
	stuck, err := e.kqueen.Open()
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = stuck.Write(make([]byte, 4*window)) }() // it is echoed, and it is not read
	for range 3 {
		conn, err := e.kqueen.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "hello"); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" {
			t.Fatalf("%q, %v", got, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	e.agent.Close()
	<-e.kqueen.Done()
	if _, err := e.kqueen.Open(); err == nil {
		t.Error("a stream opens when the agent is gone")
	}
}

// TestBeat: heartbeats are heard, and end with the connection.
func TestBeat(t *testing.T) {
	e := connect(t)
	before := e.kqueen.Heard()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.agent.Beat(ctx, 50*time.Millisecond) }()
	await(t, func() bool { return e.kqueen.Heard().After(before) })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	e.kqueen.Close()
	if err := e.agent.Beat(t.Context(), time.Millisecond); err == nil {
		t.Error("heartbeats go on without a connection")
	}
}

// TestDialRefused: what KQueen says comes back as it is, and what is not KQueen is noticed.
func TestDialRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   RefusedError
	}{
		"Unknown": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, RefusedError{Status: 401}},
		"Busy": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, RefusedError{503, 7 * time.Second}},
		"Nonsense": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "-7")
			w.WriteHeader(http.StatusTooManyRequests)
		}, RefusedError{429, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(tc.answer)
			defer s.Close()
			_, err := Dial(t.Context(), s.Client(), s.URL, nil, quietly)
			if refused, ok := errors.AsType[*RefusedError](err); !ok || *refused != tc.want {
				t.Errorf("got %v, want %+v", err, tc.want)
			}
		})
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err == nil {
			_ = conn.CloseNow()
		}
	}))
	defer other.Close()
	if _, err := Dial(t.Context(), other.Client(), other.URL, nil, quietly); err == nil {
		t.Error("a server of another protocol is taken for KQueen")
	}
}

func await(t *testing.T, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not come about")
		}
	}
}
