package tunnel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"
)

// RefusedError says that KQueen does not take an agent.
type RefusedError struct {
	// Status is that of HTTP.
	Status int
	// RetryAfter is when the agent should come again; 0 where KQueen has not said.
	RetryAfter time.Duration
}

// Error says what the status means for an agent.
func (e *RefusedError) Error() string {
	switch e.Status {
	case http.StatusUnauthorized:
		return "KQueen does not know this agent, or has revoked it"
	case http.StatusConflict:
		return "this agent belongs to another cluster than the one that it runs in"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return "KQueen is busy"
	}
	return fmt.Sprintf("KQueen answers with the status %d", e.Status)
}

// Dial connects an agent with KQueen. Header has what it proves itself with. [*RefusedError] when KQueen does not take it.
func Dial(ctx context.Context, client *http.Client, url string, header http.Header, logger *slog.Logger) (*Session, error) {
	conn, answer, err := websocket.Dial(ctx, url, &websocket.DialOptions{ //nolint:bodyclose // the library reads and closes it
		HTTPClient: client, HTTPHeader: header, Subprotocols: []string{Protocol}, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
			after, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
			return nil, &RefusedError{answer.StatusCode, time.Duration(max(after, 0)) * time.Second}
		}
		return nil, fmt.Errorf("connect with KQueen: %w", err)
	}
	if conn.Subprotocol() != Protocol {
		return nil, errors.Join(errors.New("connect with KQueen: what answers speaks another protocol"), conn.CloseNow())
	}
	return newSession(ctx, conn, true, logger)
}

// Accept takes the connection of an agent over from an HTTP server, whose request is good.
func Accept(w http.ResponseWriter, r *http.Request, logger *slog.Logger) (*Session, error) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{Protocol}, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil, fmt.Errorf("take the connection of an agent: %w", err)
	}
	if conn.Subprotocol() != Protocol {
		return nil, errors.Join(errors.New("take the connection of an agent: it speaks another protocol"), conn.CloseNow())
	}
	return newSession(r.Context(), conn, false, logger)
}
