//go:build linux

package connection

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/api/v1alpha1"
)

// mostThrough is how many connections members have to one cluster: each session in a container takes one.
const mostThrough = 256

// Passage is the way to a cluster for calls of others.
type Passage struct {
	Server    *url.URL
	Transport http.RoundTripper
	// Adopted says that calls are made with the credentials that were set for the cluster, whatever they bring. Calls to other clusters
	// bring credentials of their callers, and go without any of KQueen's.
	Adopted bool
}

// Through returns the way to a cluster for calls of others, which end when they end them: they go nowhere else, those to adopted clusters
// are guarded, and their answers are as long as they are. [ErrNoCredentials] when nothing is known yet by which it is reached.
func (c *Connections) Through(ctx context.Context, cluster *v1alpha1.Cluster) (Passage, error) {
	if _, err := c.config(ctx, cluster); err != nil { // a call of a user wakes one that sleeps
		return Passage{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	through := c.open[cluster.UID].through
	if through == nil { // forgotten meanwhile
		return Passage{}, ErrNoCredentials
	}
	return Passage{Server: through.server, Transport: through, Adopted: !through.callers}, nil
}

// forCallers returns the way to a cluster that KQueen hosts, for calls that bring credentials of their own: of the kubeconfig it has the
// address and the authority, and not the keys of the administrator.
func forCallers(config *rest.Config) (*way, error) {
	server, err := url.Parse(config.Host)
	if err != nil || server.Scheme != "https" || server.Host == "" {
		return nil, errors.New("the server is not a URL that begins with https://")
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(config.CAData) {
		return nil, errors.New("there is no certificate-authority-data by which the server is known")
	}
	dialed := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialWithin}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, ServerName: config.ServerName, RootCAs: authorities},
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: tlsWithin, ResponseHeaderTimeout: headersWithin, MaxResponseHeaderBytes: mostHeaders,
		MaxIdleConnsPerHost: 2, IdleConnTimeout: idleThrough,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingWithin},
	}
	w := &way{server: server, callers: true, dialed: dialed}
	return w.forOthers(), nil
}
