// Package kube calls any Kubernetes API server by its kubeconfig.
//
// It hides how a connection is made: files, deadlines, the user agent. Every
// package above it may import it; it knows nothing of KQueen's kinds.
package kube

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CallDeadline bounds every call but a watch, from its first byte out to its last byte in.
const CallDeadline = 30 * time.Second

// Target says which API server to call, and as whom.
type Target struct {
	// Kubeconfig is the path of a kubeconfig file. It has to exist.
	Kubeconfig string
	// Context of the kubeconfig; when empty, its current one.
	Context string
	// Version of the calling program, for the user agent "kqueen/VERSION".
	Version string
	// Warn is told what the server warns of; nil leaves it to the client library.
	Warn func(text string)
}

// Config reads the target's kubeconfig. Every call made with it but a watch ends after [CallDeadline].
func Config(target Target) (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: target.Kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: target.Context},
	).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", target.Kubeconfig, err)
	}
	config.UserAgent = "kqueen/" + target.Version
	unpaced(config)
	if target.Warn != nil {
		config.WarningHandler = warnings(target.Warn)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &deadline{next: next, limit: CallDeadline}
	})
	return config, nil
}

// unpaced lets calls go out as they come: the API server's own fairness is the limit. The client library's would hold
// back the sixth call of a second, and give up early on a call that has a deadline.
func unpaced(config *rest.Config) { config.QPS, config.Burst = -1, 0 }

// Connect returns an uncached client for the kinds of the scheme. It makes no call yet: a server that is
// away is noticed at the first use.
func Connect(config *rest.Config, scheme *runtime.Scheme) (client.WithWatch, error) {
	config = rest.CopyConfig(config)
	unpaced(config)
	c, err := client.NewWithWatch(config, client.Options{
		Scheme: scheme,
		// Without a logger of its own the client asks for the process's, and when the process has set none
		// for 30 s, prints a stack trace. logr.Discard() counts as none.
		Log: logr.FromSlogHandler(slog.DiscardHandler),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	return c, nil
}

// ServerVersion asks the API server for its version.
func ServerVersion(ctx context.Context, config *rest.Config) (*version.Info, error) {
	c, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	info, err := c.ServerVersionWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", config.Host, err)
	}
	return info, nil
}

// warnings hands the warnings of an API server on.
type warnings func(text string)

// HandleWarningHeader implements [rest.WarningHandler]. 299 is the only code that API servers use.
func (w warnings) HandleWarningHeader(code int, _, text string) {
	if code == 299 && text != "" {
		w(text)
	}
}

// Bounded ends every call by next but a watch after [CallDeadline].
func Bounded(next http.RoundTripper) http.RoundTripper {
	return &deadline{next: next, limit: CallDeadline}
}

// deadline bounds calls. rest.Config.Timeout cannot be used, because it also ends watches.
type deadline struct {
	next  http.RoundTripper
	limit time.Duration
}

// RoundTrip bounds the call until its body is read, unless it is a watch.
func (d *deadline) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Get("watch") == "true" {
		return d.next.RoundTrip(req)
	}
	ctx, cancel := context.WithTimeout(req.Context(), d.limit)
	resp, err := d.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &cancelOnClose{ReadCloser: resp.Body, cancel: cancel}
	return resp, nil
}

// cancelOnClose frees a call's deadline when its body has been read.
type cancelOnClose struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close closes the body.
func (c *cancelOnClose) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}
