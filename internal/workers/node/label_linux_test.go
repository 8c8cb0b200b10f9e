package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestLabel: the Node is labelled when it is there, and the log says once what keeps it from that.
func TestLabel(t *testing.T) {
	var calls []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls = append(calls, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body))
		w.Header().Set("Content-Type", "application/json")
		if len(calls) < 3 {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","message":"nodes \"n\" not found","code":404}`)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"n"}}`)
	}))
	defer server.Close()
	var log bytes.Buffer
	s := Start{Label: "n", Path: kubeconfigTo(t, server.URL), Log: slog.New(slog.NewTextHandler(&log, nil))}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := s.label(ctx); err != nil {
		t.Fatalf("%v; the log says:\n%s", err, &log)
	}
	call := `PATCH /api/v1/nodes/n {"metadata":{"labels":{"kqueen.io/addon-images":"imported"}}}`
	if diff := cmp.Diff([]string{call, call, call}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if got := strings.Count(log.String(), "not labelled yet"); got != 1 {
		t.Errorf("the log says %d times that the node is not labelled, want once:\n%s", got, &log)
	}
}

// TestLabelGivesUp: a machine that ends does not wait for an API server, and no name is no label.
func TestLabelGivesUp(t *testing.T) {
	ending := errors.New("the machine ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ending)
	s := Start{Label: "n", Path: filepath.Join(t.TempDir(), "none"), Log: slog.New(slog.DiscardHandler)}
	if err := s.label(ctx); !errors.Is(err, ending) {
		t.Errorf("got %v, want %v", err, ending)
	}
	s.Label = ""
	if err := s.label(ctx); err != nil {
		t.Errorf("without a node to label: %v", err)
	}
}

func kubeconfigTo(t *testing.T, server string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
