package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// askedBytes is how much of an answer is read. It is dropped: it is read so that the other side
// can end properly, and a hostile one can send no more.
const askedBytes = 64 << 10

// Ask asks the API server that a kubeconfig names for a path and returns the HTTP status of the
// answer. The kubeconfig must be our own and carry all its data inside. One connection is made and
// none is kept; the caller's context bounds the call.
func Ask(ctx context.Context, kubeconfig []byte, path string) (int, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return 0, fmt.Errorf("read kubeconfig: %w", err)
	}
	// A transport of our own: client-go's would be kept in a global cache for as long as we run.
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return 0, fmt.Errorf("read the keys of the kubeconfig: %w", err)
	}
	tls.NextProtos = []string{"http/1.1", BackgroundProtocol} // this transport speaks no other
	caller := &http.Client{Transport: &http.Transport{TLSClientConfig: tls, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil)
	if err != nil {
		return 0, fmt.Errorf("ask %s: %w", config.Host, err)
	}
	resp, err := caller.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.CopyN(io.Discard, resp.Body, askedBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read the answer of %s: %w", config.Host, err)
	}
	return resp.StatusCode, nil
}
