//go:build linux

// Package status is the socket in the data directory on which an installation tells its owner how it is, while it
// starts, too, and hands out the tokens by which a first administrator is made. It answers before there is an admin
// plane or a REST API, to root and the user that runs KQueen alone: the kernel says who connects.
//
// Package app serves it; commands about this machine ask by Read, NewSetup, NewRecovery and NewSimulator.
package status

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/clusters/simulator"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/server/socket"
)

// Status is what an installation tells about itself on its socket.
type Status struct {
	PID        int       `json:"pid"`
	Version    string    `json:"version"`
	StartedAt  time.Time `json:"startedAt"`
	DataDir    string    `json:"dataDir"`
	Gateway    string    `json:"gateway"`
	Ingress    string    `json:"ingress"`
	API        string    `json:"api"`
	Kubeconfig string    `json:"kubeconfig"`
	// RestartedBy names what starts it again when it crashes: "keeper" or "systemd"; empty when it does not know of any.
	RestartedBy string `json:"restartedBy,omitempty"`
	// MemoryBytes is what this process takes from the host and shares with no other, LiveBytes what of it was in use when
	// garbage was last collected.
	MemoryBytes uint64 `json:"memoryBytes"`
	LiveBytes   uint64 `json:"liveBytes"`
	// Ready says that everything is ready, Stalled that it cannot be without its owner, and Problems what is damaged or
	// missing and what helps.
	Ready    bool     `json:"ready"`
	Stalled  bool     `json:"stalled,omitempty"`
	Problems []string `json:"problems,omitempty"`
	// Demo says that the installation is for demonstrations: what "kqueen up --demo" creates is in it, or about to be.
	Demo      bool             `json:"demo,omitempty"`
	Workloads []WorkloadStatus `json:"workloads"`
	// Warnings are what the owner should change about the host, in words.
	Warnings []string `json:"warnings,omitempty"`
}

// WorkloadStatus is what one workload does and uses.
type WorkloadStatus struct {
	ID string `json:"id"`
	// Name is namespace/name of the control plane or machine; for KQueen's own workloads the ID.
	Name string `json:"name"`
	Own  bool   `json:"own"`
	// Cluster is organization/name of the cluster that it is of; empty for KQueen's own. Node says that it is one of its nodes.
	Cluster    string            `json:"cluster,omitempty"`
	Node       bool              `json:"node,omitempty"`
	Components []ComponentStatus `json:"components"`
	// Confinement says what keeps the programs from the host and from others: "complete", or what is missing and why. Empty
	// for those that run as KQueen does by design.
	Confinement string `json:"confinement,omitempty"`
}

// ComponentStatus is what one program does and uses.
type ComponentStatus struct {
	Name  string `json:"name"`
	State string `json:"state"`
	PID   int    `json:"pid,omitempty"`
	// StartedAt is of the process that runs.
	StartedAt   time.Time `json:"startedAt,omitzero"`
	Restarts    int       `json:"restarts"`
	MemoryBytes uint64    `json:"memoryBytes"`
	CPUSeconds  float64   `json:"cpuSeconds"`
}

// ErrNotRunning says that no kqueen runs on the data directory.
var ErrNotRunning = errors.New("kqueen is not running")

// SilentError says that a kqueen runs on the data directory and does not answer: it hangs, or begins or ends just now.
type SilentError struct {
	Dir string
	// PID is 0 when it is not known.
	PID int
}

func (e *SilentError) Error() string {
	return fmt.Sprintf("KQueen (pid %d) has the lock of %s and does not answer; unless it starts or ends just now it hangs: stop it with \"kqueen down\", or end the process and start it again",
		e.PID, e.Dir)
}

const (
	// Name of the socket in the data directory.
	Name = "kqueen.sock"
	// RunFolder is the supervisor's folder there.
	RunFolder = "run"
	timeout   = 10 * time.Second
	// storesTimeout bounds what is asked of the admin plane, without which the status is nearly as good.
	storesTimeout = 2 * time.Second
	// maxSaid bounds how much of an error is read.
	maxSaid = 4 << 10
)

// Read asks the installation in dir how it is. ErrNotRunning when there is none, a *SilentError when it does not answer.
func Read(ctx context.Context, dir string) (*Status, error) {
	status := &Status{}
	return status, ask(ctx, dir, http.MethodGet, "/status", status)
}

// ask asks the installation in dir on its socket.
func ask(ctx context.Context, dir, method, path string, into any) error {
	return askWithin(ctx, timeout, dir, method, path, into)
}

func askWithin(ctx context.Context, within time.Duration, dir, method, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return OnSocket(dir, Name, func(path string) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", path) })
	}}
	req, err := http.NewRequestWithContext(ctx, method, "http://kqueen"+path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return silence(dir)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxSaid))
		return fmt.Errorf("ask KQueen: %s", strings.TrimSpace(string(said)))
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("read the answer of KQueen: %w", err)
	}
	return nil
}

// silence says why no answer came: the lock tells who runs.
func silence(dir string) error {
	pid, held := supervise.Holder(filepath.Join(dir, RunFolder))
	if !held {
		return fmt.Errorf("%w in %s", ErrNotRunning, dir)
	}
	return &SilentError{Dir: dir, PID: pid}
}

// Socket answers. All fields are required but RestartedBy.
type Socket struct {
	// Dir is the data directory, Version is kqueen's, and Gateway and Ingress are the addresses of the gateway and of the ingress
	// gateway.
	Dir, Version, Gateway, Ingress string
	// RestartedBy is that of [Status]; may be empty.
	RestartedBy string
	// API is the address of the REST API; empty until its port is open.
	API        func() string
	StartedAt  time.Time
	Supervisor Supervisor
	// Ready says whether everything is ready, Stalled whether it cannot be without the owner, and Problems what is wrong.
	Ready, Stalled func() bool
	Problems       func() []string
	// Owns says whether a workload is the engine's own.
	Owns func(id string) bool
	// Admin reads the admin plane; nil until its API server is healthy.
	Admin func() client.Reader
	// Demo says whether the installation is for demonstrations, and Simulate makes it one and returns how its simulated clusters are adopted.
	Demo     func() bool
	Simulate func(context.Context) (*simulator.Access, error)
	// Tokens are nil until the REST API is ready.
	Tokens func() *Tokens
	// Warnings says what the owner should change about a host with so many workloads.
	Warnings func(workloads int) []string
	Log      *slog.Logger
}

// Supervisor tells what runs on this host. *supervise.Supervisor offers it.
type Supervisor interface {
	List(ctx context.Context) ([]string, error)
	Status(ctx context.Context, id string) (supervise.Status, error)
}

// Serve answers on the socket until ctx ends. Only one process may call it for a data directory at a time: a socket
// that is still there was left by a dead predecessor.
func (s *Socket) Serve(ctx context.Context) error {
	listener, err := OnSocket(s.Dir, Name, func(path string) (net.Listener, error) { return socket.Listen(path, s.Log) })
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		status, err := s.status(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(status)
	})
	mux.HandleFunc("POST "+setupPath, s.serveSetup)
	mux.HandleFunc("POST "+recoveryPath, s.serveRecovery)
	mux.HandleFunc("POST "+simulatorPath, s.serveSimulator)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: timeout, WriteTimeout: timeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the status: %w", err)
	}
	return nil
}

func (s *Socket) status(ctx context.Context) (*Status, error) {
	found := &Status{
		PID: os.Getpid(), Version: s.Version, StartedAt: s.StartedAt, DataDir: s.Dir,
		Gateway: s.Gateway, Ingress: s.Ingress, RestartedBy: s.RestartedBy, API: s.API(), Kubeconfig: filepath.Join(s.Dir, "admin.kubeconfig"),
		Demo: s.Demo(), Ready: s.Ready(), Stalled: s.Stalled(), Problems: s.Problems(),
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	found.LiveBytes = live[0].Value.Uint64()
	var err error
	if found.MemoryBytes, err = anonymousMemory(); err != nil {
		return nil, err
	}
	ids, err := s.Supervisor.List(ctx)
	if err != nil {
		return nil, err
	}
	asking, cancel := context.WithTimeout(ctx, storesTimeout)
	defer cancel()
	found.Problems = append(found.Problems, s.storeProblems(asking)...)
	for _, id := range ids {
		status, err := s.Supervisor.Status(ctx, id)
		if err != nil {
			return nil, err
		}
		found.Workloads = append(found.Workloads, WorkloadStatus{
			ID: id, Name: cmp.Or(status.Subject.Name, id), Own: s.Owns(id), Cluster: status.Subject.Cluster, Node: status.Subject.Node,
			Components: componentsOf(status), Confinement: status.Confinement,
		})
	}
	found.Warnings = s.Warnings(len(ids))
	return found, nil
}

// anonymousMemory is what this process takes from the host and shares with no other, in bytes.
func anonymousMemory() (uint64, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read own memory: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		var kibibytes uint64
		if n, err := fmt.Sscanf(line, "RssAnon: %d kB", &kibibytes); n == 1 && err == nil {
			return kibibytes << 10, nil
		}
	}
	return 0, errors.New("read own memory: the kernel does not tell RssAnon")
}

func componentsOf(status supervise.Status) []ComponentStatus {
	var out []ComponentStatus
	for _, c := range status.Components {
		out = append(out, ComponentStatus{
			Name: c.Name, State: string(c.State), PID: c.PID, StartedAt: c.StartedAt, Restarts: c.Restarts,
			MemoryBytes: c.Use.AnonymousBytes, CPUSeconds: c.Use.CPUSeconds,
		})
	}
	return out
}

// OnSocket calls open with a path of the socket of a name that is short enough for the kernel, which takes 108
// bytes, however long the data directory's own path is.
func OnSocket[T any](dir, name string, open func(path string) (T, error)) (T, error) {
	var none T
	d, err := os.Open(dir)
	if err != nil {
		return none, err
	}
	defer d.Close()
	return open(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name))
}
