package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"kqueen.io/kqueen/internal/platform/relay"
)

const (
	// knowsPath is what an exit is asked for beside CONNECT: 204 says that the kubelet of its machine knows its pods, 503 that it does not yet.
	knowsPath = "/kubelet/pods"
	// knowsTimeout bounds one answer.
	knowsTimeout = 2 * time.Second
)

// Knows says whether the kubelet of a machine knows its pods; the error says what keeps it from that. A kubelet that was started takes calls
// before it has heard of its pods, and answers that they do not exist.
type Knows func(ctx context.Context) error

func (k Knows) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), knowsTimeout)
	defer cancel()
	w.Header().Set("Connection", "close")
	if err := k(ctx); err != nil {
		http.Error(w, fmt.Sprintf("%.*s", maxReason, err.Error()), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// errNotYet says that a kubelet does not know its pods yet.
var errNotYet = errors.New("the kubelet does not know its pods yet")

// askKnows asks the exit in dir. An error that is not [errNotYet] says that it cannot be asked: its machine has ended, or runs an older KQueen.
func askKnows(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, knowsTimeout)
	defer cancel()
	conn, err := dialSocket(ctx, dir)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer relay.CloseWhenDone(ctx, conn)()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: machine\r\n\r\n", knowsPath); err != nil {
		return fmt.Errorf("ask the machine: %w", err)
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(conn, maxHeader), nil)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errNotYet
	}
	if err != nil {
		return fmt.Errorf("read the machine's answer: %w", err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusNoContent:
		return nil
	case http.StatusServiceUnavailable:
		return errNotYet
	}
	return fmt.Errorf("the machine answers: %.*s", maxReason, answer.Status)
}

// asked asks the machine of a kubelet whether it knows its pods.
func (s *Server) asked(ctx context.Context, k kubelet) error {
	dir := s.exitAt(k)
	if dir == "" {
		return errors.New("it is no machine of this host")
	}
	return askKnows(ctx, dir)
}
