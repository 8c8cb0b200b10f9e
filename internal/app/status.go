//go:build linux

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// Status is what an installation tells about itself on its socket.
type Status struct {
	PID        int       `json:"pid"`
	Version    string    `json:"version"`
	StartedAt  time.Time `json:"startedAt"`
	DataDir    string    `json:"dataDir"`
	Gateway    string    `json:"gateway"`
	API        string    `json:"api"`
	Kubeconfig string    `json:"kubeconfig"`
	// MemoryBytes is what this process takes from the host and shares with nobody, LiveBytes what of it was in use when
	// garbage was last collected.
	MemoryBytes uint64           `json:"memoryBytes"`
	LiveBytes   uint64           `json:"liveBytes"`
	Workloads   []WorkloadStatus `json:"workloads"`
}

// WorkloadStatus is what one workload does and uses.
type WorkloadStatus struct {
	ID string `json:"id"`
	// Name is namespace/name of the control plane or machine; for KQueen's own workloads the ID.
	Name       string            `json:"name"`
	Own        bool              `json:"own"`
	Components []ComponentStatus `json:"components"`
}

// ComponentStatus is what one program does and uses.
type ComponentStatus struct {
	Name        string  `json:"name"`
	State       string  `json:"state"`
	PID         int     `json:"pid,omitempty"`
	Restarts    int     `json:"restarts"`
	MemoryBytes uint64  `json:"memoryBytes"`
	CPUSeconds  float64 `json:"cpuSeconds"`
}

// ErrNotRunning says that no kqueen serves the data directory.
var ErrNotRunning = errors.New("kqueen is not running")

const (
	socketName    = "kqueen.sock"
	statusTimeout = 10 * time.Second
	// maxSaid bounds how much of an error is read.
	maxSaid = 4 << 10
)

// ReadStatus asks the installation in dir. ErrNotRunning when none answers.
func ReadStatus(ctx context.Context, dir string) (*Status, error) {
	status := &Status{}
	return status, ask(ctx, dir, http.MethodGet, "/status", status)
}

// ask asks the installation in dir on its socket.
func ask(ctx context.Context, dir, method, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return onSocket(dir, socketName, func(path string) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", path) })
	}}
	req, err := http.NewRequestWithContext(ctx, method, "http://kqueen"+path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return fmt.Errorf("%w in %s", ErrNotRunning, dir)
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

// serveStatus answers on the socket in the data directory, which only its owner can enter.
func (a *App) serveStatus(ctx context.Context) error {
	// The lock is ours: a socket that is still there was left by a dead predecessor.
	if err := os.Remove(filepath.Join(a.Dir, socketName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the old status socket: %w", err)
	}
	listener, err := onSocket(a.Dir, socketName, func(path string) (net.Listener, error) { return net.Listen("unix", path) })
	if err != nil {
		return fmt.Errorf("open the status socket: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		status, err := a.status(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(status)
	})
	mux.HandleFunc("POST "+setupPath, a.serveSetup)
	mux.HandleFunc("POST "+recoveryPath, a.serveRecovery)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: statusTimeout, WriteTimeout: statusTimeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the status: %w", err)
	}
	return nil
}

func (a *App) status(ctx context.Context) (*Status, error) {
	s := &Status{
		PID: os.Getpid(), Version: a.Version, StartedAt: a.began, DataDir: a.Dir,
		Gateway: a.gatewayAddress(), API: a.apiAddress(), Kubeconfig: filepath.Join(a.Dir, "admin.kubeconfig"),
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	s.LiveBytes = live[0].Value.Uint64()
	var err error
	if s.MemoryBytes, err = anonymousMemory(); err != nil {
		return nil, err
	}
	ids, err := a.runner.List(ctx)
	if err != nil {
		return nil, err
	}
	names := a.workloadNames(ctx)
	for _, id := range ids {
		status, err := a.runner.Status(ctx, id)
		if err != nil {
			return nil, err
		}
		s.Workloads = append(s.Workloads, WorkloadStatus{
			ID: id, Name: cmp.Or(names[id], id), Own: engine.Owns(a.Engine, id), Components: componentsOf(status),
		})
	}
	return s, nil
}

// workloadNames are namespace/name by UID; empty while the admin plane does not serve yet.
func (a *App) workloadNames(ctx context.Context) map[string]string {
	names := map[string]string{}
	admin := a.admin.Load()
	if admin == nil {
		return names
	}
	for _, list := range []client.ObjectList{&v1alpha1.ControlPlaneList{}, &v1alpha1.MachineList{}} {
		if err := (*admin).List(ctx, list); err != nil {
			a.Log.Warn("list objects for the status", "list", fmt.Sprintf("%T", list), "error", err)
		}
		_ = apimeta.EachListItem(list, func(o runtime.Object) error {
			obj := o.(client.Object)
			names[string(obj.GetUID())] = obj.GetNamespace() + "/" + obj.GetName()
			return nil
		})
	}
	return names
}

// anonymousMemory is what this process takes from the host and shares with nobody, in bytes.
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
			Name: c.Name, State: string(c.State), PID: c.PID, Restarts: c.Restarts,
			MemoryBytes: c.Use.AnonymousBytes, CPUSeconds: c.Use.CPUSeconds,
		})
	}
	return out
}

// onSocket calls open with a path of the socket of a name that is short enough for the kernel, which takes 108
// bytes, however long the data directory's own path is.
func onSocket[T any](dir, name string, open func(path string) (T, error)) (T, error) {
	var none T
	d, err := os.Open(dir)
	if err != nil {
		return none, err
	}
	defer d.Close()
	return open(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name))
}
