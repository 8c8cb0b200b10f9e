//go:build linux

package connection

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"kqueen.io/kqueen/internal/platform/kube"
)

const (
	// MostBytes is how much of one answer is read, after decompression.
	MostBytes = 32 << 20
	// MostWatched is how much is read of one watch, which begins again then.
	MostWatched = 256 << 20

	mostHeaders     = 64 << 10
	mostConnections = 16
	// mostTunnelled is how many connections an agent carries for KQueen itself: of HTTP/1.1, each watch takes one.
	mostTunnelled = 48
	idleTunnelled = 90 * time.Second
	idleThrough   = 90 * time.Second
	tlsWithin     = 10 * time.Second
	headersWithin = 20 * time.Second
	pingAfter     = 30 * time.Second
	pingWithin    = 15 * time.Second
)

// ErrTooLarge says that an answer of a cluster is longer than is read of one.
var ErrTooLarge = errors.New("the answer of the cluster is too large")

// ErrRedirected says that an API server pointed elsewhere, where KQueen does not go.
var ErrRedirected = errors.New("the server answers with a redirect, which is not followed; want the URL of the API server itself")

// way carries the requests of one cluster: to its own server alone, with the credentials that were set and no others.
type way struct {
	server *url.URL
	// kubeconfig has the credentials; nil where an agent has its own.
	kubeconfig *Kubeconfig
	// callers says that requests bring credentials of their callers, which are passed on.
	callers bool
	dialed  *http.Transport
	next    http.RoundTripper
}

// transport returns the way to the cluster of a kubeconfig. It makes no call.
func (g *Guard) transport(k *Kubeconfig) (*way, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: k.serverName}
	if len(k.ca) > 0 {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(k.ca) // Parse has looked
	}
	if len(k.key) > 0 {
		pair, err := tls.X509KeyPair(k.cert, k.key)
		if err != nil {
			return nil, errors.New("read the client certificate: it does not belong to its key") // its words could quote the key
		}
		config.Certificates = []tls.Certificate{pair}
	}
	dialed := &http.Transport{
		DialContext: g.DialContext, TLSClientConfig: config, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: tlsWithin, ResponseHeaderTimeout: headersWithin, MaxResponseHeaderBytes: mostHeaders,
		MaxConnsPerHost: mostConnections, MaxIdleConnsPerHost: 2, IdleConnTimeout: idle,
		// A connection whose other end is gone is noticed, so that a watch on it ends.
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingWithin},
	}
	return &way{server: k.server, kubeconfig: k, dialed: dialed, next: &capped{next: kube.Bounded(dialed)}}, nil
}

// RoundTrip implements [http.RoundTripper].
func (w *way) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != w.server.Scheme || req.URL.Host != w.server.Host {
		return nil, fmt.Errorf("a request to %s cannot go to %s", w.server.Host, req.URL.Host)
	}
	if w.callers {
		return w.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	req.Header.Del("Authorization")
	switch {
	case w.kubeconfig == nil:
	case w.kubeconfig.token != "":
		req.Header.Set("Authorization", "Bearer "+w.kubeconfig.token)
	case w.kubeconfig.username != "":
		req.SetBasicAuth(w.kubeconfig.username, w.kubeconfig.password)
	}
	return w.next.RoundTrip(req)
}

// forOthers makes it the way for the calls of others, which are bounded by those alone.
func (w *way) forOthers() *way {
	w.dialed.MaxConnsPerHost = mostThrough
	w.next = w.dialed
	return w
}

func (w *way) closeIdle() { w.dialed.CloseIdleConnections() }

// capped follows no redirect and reads no more of an answer than it may have.
type capped struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (c *capped) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.StatusCode != http.StatusNotModified {
		_ = resp.Body.Close() // nothing is read of it
		return nil, ErrRedirected
	}
	left := int64(MostBytes)
	if req.URL.Query().Get("watch") == "true" {
		left = MostWatched
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &cappedBody{resp.Body, left}
	}
	return resp, nil
}

// cappedBody fails where more comes than may.
type cappedBody struct {
	io.ReadCloser
	left int64
}

// Read implements [io.Reader].
func (b *cappedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	// One byte more tells an answer that is too large from one that has just ended.
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}

// Answer is what an API server says to a question.
type Answer struct {
	Status int
	Body   []byte
}

// mostAnswered is how much of the answer to a question is read.
const mostAnswered = 64 << 10

// Ask asks the API server of a kubeconfig for some paths, one after the other, on a connection that is not kept, and returns as many
// answers, cut after 64 KiB. The caller's context bounds it. Errors hold no secret.
func (g *Guard) Ask(ctx context.Context, k *Kubeconfig, version string, paths ...string) ([]Answer, error) {
	w, err := g.transport(k)
	if err != nil {
		return nil, err
	}
	return w.askAll(ctx, version, paths)
}

func (w *way) askAll(ctx context.Context, version string, paths []string) ([]Answer, error) {
	defer w.closeIdle()
	answers := make([]Answer, 0, len(paths))
	for _, path := range paths {
		a, err := w.ask(ctx, path, "kqueen/"+version)
		if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

func (w *way) ask(ctx context.Context, path, agent string) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.server.String()+path, http.NoBody)
	if err != nil {
		return Answer{}, fmt.Errorf("ask for %s: %w", path, err)
	}
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Accept", "application/json, */*")
	resp, err := w.RoundTrip(req)
	if err != nil {
		return Answer{}, fmt.Errorf("ask for %s: %w", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswered))
	if err != nil {
		return Answer{}, fmt.Errorf("read the answer to %s: %w", path, err)
	}
	return Answer{resp.StatusCode, body}, nil
}
