// Package tunnel carries calls to clusters that nothing can dial: an agent in the cluster dials KQueen, and KQueen opens streams on that
// connection.
//
//	agent ── WebSocket on the API port ──► KQueen
//	agent ◄── a stream per connection (yamux) ── KQueen
//
// Both ends are here, because they have to agree. It hides the framing, the heartbeats, and which of two connections of one agent
// counts. Who an agent is, the caller has found out before. Package server/agents accepts, agent dials, and clusters/connection opens.
package tunnel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
)

// Protocol is the WebSocket subprotocol. Another one is another version of what is here.
const Protocol = "kqueen-agent.v1"

const (
	// Heartbeat is the time between two signs of life of an agent.
	Heartbeat = 20 * time.Second
	// LostAfter is for how long nothing may come from an agent: three heartbeats. Its connection is closed then, and its cluster is offline.
	LostAfter = 3 * Heartbeat

	// writeWithin bounds a write to a connection that takes nothing more.
	writeWithin = 15 * time.Second
	// window is how much of one stream is under way, in bytes: 256 KiB, so that one that is not read costs no more memory.
	window = 256 << 10
	// backlog is how many streams KQueen may have opened that the agent has not taken yet.
	backlog = 256
)

// Session is one connection of an agent, at either end. It is safe for concurrent use.
type Session struct {
	conn  *websocket.Conn
	mux   *yamux.Session
	heard *heard
	end   context.CancelFunc
}

// heard notes when something came.
type heard struct {
	net.Conn
	at atomic.Int64 // Unix time in nanoseconds
}

// Read implements [io.Reader].
func (h *heard) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if n > 0 {
		h.at.Store(time.Now().UnixNano())
	}
	return n, err
}

func settings(logger *slog.Logger) *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false // the agent alone sends heartbeats: half the traffic
	c.ConnectionWriteTimeout, c.AcceptBacklog, c.MaxStreamWindowSize = writeWithin, backlog, window
	// What the multiplexer says is for debugging alone: all that matters comes back as an error.
	c.LogOutput, c.Logger = nil, slog.NewLogLogger(logger.Handler(), slog.LevelDebug)
	return c
}

// newSession takes a connection: the agent answers streams, and KQueen opens them and looks at what comes.
func newSession(ctx context.Context, conn *websocket.Conn, atAgent bool, logger *slog.Logger) (*Session, error) {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx)) // for as long as the connection
	h := &heard{Conn: websocket.NetConn(ctx, conn, websocket.MessageBinary)}
	h.at.Store(time.Now().UnixNano())
	multiplex := yamux.Server
	if !atAgent {
		h.Conn, multiplex = newIncoming(h.Conn), yamux.Client
	}
	mux, err := multiplex(h, settings(logger))
	if err != nil {
		end()
		return nil, errors.Join(err, conn.CloseNow())
	}
	return &Session{conn: conn, mux: mux, heard: h, end: end}, nil
}

// Heard is when something came last.
func (s *Session) Heard() time.Time { return time.Unix(0, s.heard.at.Load()) }

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.mux.CloseChan() }

// Close ends the session and all its streams at once: the other end may be gone, and a closing handshake would wait for it.
func (s *Session) Close() {
	s.end()
	_ = s.conn.CloseNow() // it may be closed already
	_ = s.mux.Close()     // says no more than that
}

// Open opens a stream to the agent. It returns when the stream is there, and the agent may refuse it later.
func (s *Session) Open() (net.Conn, error) {
	stream, err := s.mux.OpenStream()
	if err != nil {
		return nil, fmt.Errorf("open a stream to the agent: %w", err)
	}
	return stream, nil
}

// Listener returns what KQueen opens.
func (s *Session) Listener() net.Listener { return s.mux }

// Beat sends heartbeats until ctx or the session ends, and returns why. A heartbeat that is not answered ends the session.
func (s *Session) Beat(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Done():
			return errors.New("the connection to KQueen has ended")
		case <-tick.C:
		}
		if _, err := s.mux.Ping(); err != nil {
			s.Close()
			return fmt.Errorf("send a heartbeat: %w", err)
		}
	}
}
