package objects

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
)

// sse writes server-sent events, as the HTML standard has them.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newSSE(w http.ResponseWriter) *sse { return &sse{w, http.NewResponseController(w)} }

// begin sends the headers, so that the caller knows that it may wait. A stream has no time by which it has to be over,
// as requests have.
func (e *sse) begin() {
	_ = e.control.SetReadDeadline(time.Time{})
	_ = e.control.SetWriteDeadline(time.Now().Add(chain.Slowest))
	e.w.Header().Set("Content-Type", "text/event-stream")
	e.w.Header().Set("Cache-Control", "no-store")
	e.w.WriteHeader(http.StatusOK)
	_ = e.control.Flush()
}

// event sends an event. One without an id leaves the reader with the last one that it has.
func (e *sse) event(name, id string, data any) error {
	encoded, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return e.write(fmt.Sprintf("event: %s\n%sdata: %s\n\n", name, id, encoded))
}

func (e *sse) comment(text string) error { return e.write(": " + text + "\n\n") }

// fail writes the last event of a stream that does not go on by itself.
func (e *sse) fail(p *problem.Problem) error {
	encoded, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode a problem: %w", err)
	}
	_ = e.write(fmt.Sprintf("event: problem\ndata: %s\n\n", encoded))
	return nil
}

// write bounds how long one who does not read is waited for.
func (e *sse) write(text string) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(chain.Slowest)); err != nil {
		return fmt.Errorf("bound a write: %w", err)
	}
	if _, err := e.w.Write([]byte(text)); err != nil {
		return fmt.Errorf("send an event: %w", err)
	}
	return e.control.Flush()
}
