package kube

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// dialWithin bounds a connection, and the question whether its API server is ready.
const dialWithin = 10 * time.Second

// WhenReady returns a copy of config whose clients connect to an API server that is ready, and fail with 503 otherwise. One that has
// just started answers before it has read who may what, and refuses those who may (kubernetes/kubernetes#121635). Such an
// API server is a process that is reached by a new connection alone, so that nothing is asked for the requests of an old one.
func WhenReady(config *rest.Config) (*rest.Config, error) {
	asking, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	ready, dialer := address.JoinPath("/readyz").String(), &net.Dialer{}
	config = rest.CopyConfig(config)
	config.Dial = func(ctx context.Context, network, to string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialWithin)
		defer cancel()
		conn, err := dialer.DialContext(ctx, network, to)
		if err != nil {
			return nil, unready(err)
		}
		// It is asked afterwards: when another process answers, the one that was connected to has ended.
		if err := isReady(ctx, asking, ready); err != nil {
			_ = conn.Close() // nothing was written
			return nil, unready(err)
		}
		return conn, nil
	}
	return config, nil
}

func unready(err error) error {
	return fmt.Errorf("%w: %w", apierrors.NewServiceUnavailable("the API server is not ready"), err)
}

func isReady(ctx context.Context, by *http.Client, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask whether it is ready: %w", err)
	}
	resp, err := by.Do(req)
	if err != nil {
		return fmt.Errorf("ask whether it is ready: %w", err)
	}
	_ = resp.Body.Close() // the status is read
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it says %s to the question whether it is ready", resp.Status)
	}
	return nil
}
