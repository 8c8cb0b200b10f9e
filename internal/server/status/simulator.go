//go:build linux

package status

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"kqueen.io/kqueen/internal/clusters/simulator"
)

const (
	simulatorPath = "/simulator"
	// simulatorTimeout is how long the start of a process may take on a busy host.
	simulatorTimeout = time.Minute
)

// NewSimulator makes the installation in dir one for demonstrations, which it stays, and returns how its simulated clusters are
// adopted. It is idempotent. ErrNotRunning when none answers.
func NewSimulator(ctx context.Context, dir string) (*simulator.Access, error) {
	access := &simulator.Access{}
	return access, askWithin(ctx, simulatorTimeout, dir, http.MethodPost, simulatorPath, access)
}

// serveSimulator hands out what clusters are adopted by, to the owner, to whom alone the socket listens.
func (s *Socket) serveSimulator(w http.ResponseWriter, r *http.Request) {
	if !s.Ready() {
		http.Error(w, "KQueen is not ready yet", http.StatusServiceUnavailable)
		return
	}
	// The deadline of the other answers is shorter than a start may take.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(simulatorTimeout))
	access, err := s.Simulate(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(access) //nolint:errchkjson // a caller that went away
}
