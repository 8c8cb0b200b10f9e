package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// newProxy hands calls on to the API server, with the agent's own credentials and no others.
func newProxy(api *rest.Config, log *slog.Logger) (http.Handler, error) {
	server, _, err := rest.DefaultServerUrlFor(api)
	if err != nil {
		return nil, fmt.Errorf("the URL of the API server: %w", err)
	}
	plain, err := rest.TransportFor(api)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	// Sessions in containers change the protocol of their connection, which HTTP/2 has no way for.
	upgrading := rest.CopyConfig(api)
	upgrading.NextProtos = []string{"http/1.1"}
	upgrades, err := rest.TransportFor(upgrading)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = server.Scheme, server.Host
			p.Out.Host = ""
			p.Out.Header.Del("Authorization")
		},
		Transport: &either{plain, upgrades}, FlushInterval: -1, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			log.Debug("the API server does not answer", "error", err)
			w.WriteHeader(http.StatusBadGateway)
		},
	}, nil
}

// either is the transport that a request needs.
type either struct{ plain, upgrades http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (e *either) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("Upgrade") != "" {
		return e.upgrades.RoundTrip(req)
	}
	return e.plain.RoundTrip(req)
}

// mostRead is how much is read of one object.
const mostRead = 1 << 20

// readInstance returns the UID of the namespace kube-system, by which one cluster is told from another.
func readInstance(ctx context.Context, api *rest.Config) (string, error) {
	namespace := &metav1.PartialObjectMetadata{}
	if err := call(ctx, api, http.MethodGet, "/api/v1/namespaces/kube-system", nil, namespace); err != nil {
		return "", err
	}
	return string(namespace.UID), nil
}

// call makes one call to the API server in JSON.
func call(ctx context.Context, api *rest.Config, method, path string, body io.Reader, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	client, err := rest.HTTPClientFor(api)
	if err != nil {
		return err
	}
	server, _, err := rest.DefaultServerUrlFor(api)
	if err != nil {
		return err
	}
	at := url.URL{Scheme: server.Scheme, Host: server.Host, Path: path}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), body)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: the API server answers with the status %d", method, path, answer.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, mostRead)).Decode(into)
}
