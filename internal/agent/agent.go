// Package agent runs in a cluster that nothing can dial. It dials KQueen, proves who it is, and hands the calls that come back on to
// the API server beside it, as its own ServiceAccount: what KQueen may in the cluster is what RBAC lets that account.
//
//	one-time token ──► identity (made here, kept in a Secret here) ──► connection ──► calls to the API server
//
// It hides when it comes again, and how an identity takes the place of another one without a gap. Only cmd/kqueen-agent imports it.
package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/internal/clusters/tunnel"
)

const (
	// firstPause and longestPause are between two tries to connect: each is chosen at random up to a bound that doubles, so that many
	// agents do not come at once after KQueen was away.
	firstPause, longestPause = time.Second, time.Minute
	// refusedPause is the shortest one after KQueen has said that it does not know the agent.
	refusedPause = 30 * time.Second
	// rotateAfter is how old an identity becomes.
	rotateAfter = 24 * time.Hour
	// callWithin bounds each call to KQueen and to the Secret, connecting included.
	callWithin = 30 * time.Second
)

// Config is what an agent is made of. All fields but Authority, Token and Heartbeat are required.
type Config struct {
	// Server is the URL of KQueen.
	Server string
	// Authority are certificates in PEM by which KQueen is trusted, beside those that the system trusts.
	Authority []byte
	// Organization and Cluster are what KQueen calls the cluster.
	Organization, Cluster string
	// Token returns the one-time token, read when it is needed; an empty one where there is none.
	Token func() (string, error)
	// API is the API server of the cluster, by the agent's own credentials.
	API *rest.Config
	// Identity keeps what the agent proves itself with.
	Identity Store
	Version  string
	Log      *slog.Logger
	// Heartbeat is the time between two; 0 for [tunnel.Heartbeat].
	Heartbeat time.Duration
}

// Agent is one agent.
type Agent struct {
	Config
	client    *http.Client
	serve     *http.Server
	instance  string
	connected atomic.Bool
}

// New returns an agent.
func New(c Config) (*Agent, error) {
	if c.Heartbeat == 0 {
		c.Heartbeat = tunnel.Heartbeat
	}
	at, err := url.Parse(c.Server)
	if err != nil || at.Scheme != "https" || at.Host == "" {
		return nil, errors.New("the URL of KQueen: want https://HOST:PORT")
	}
	c.Server = strings.TrimSuffix(c.Server, "/")
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if len(c.Authority) > 0 && !roots.AppendCertsFromPEM(c.Authority) {
		return nil, errors.New("the certificates by which KQueen is trusted: want PEM")
	}
	handler, err := newProxy(c.API, c.Log)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, NextProtos: []string{"http/1.1"}} // a WebSocket is HTTP/1.1
	transport.ForceAttemptHTTP2 = false
	follow := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Agent{
		Config: c, client: &http.Client{Transport: transport, CheckRedirect: follow},
		serve: &http.Server{Handler: handler, ReadHeaderTimeout: callWithin, ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug)},
	}, nil
}

// Connected says whether KQueen reaches the cluster now.
func (a *Agent) Connected() bool { return a.connected.Load() }

// Run keeps the agent connected until ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	bound := firstPause
	for {
		began := time.Now()
		err := a.once(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the caller has ended it
		}
		if time.Since(began) > longestPause { // it was connected
			bound = firstPause
		}
		wait := pause(err, bound)
		a.Log.Warn("not connected with KQueen", "error", err, "againIn", wait.Round(time.Second/10))
		bound = min(2*bound, longestPause)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// pause is how long an agent waits after an error.
func pause(err error, bound time.Duration) time.Duration {
	shortest := time.Duration(0)
	if refused, ok := errors.AsType[*tunnel.RefusedError](err); ok {
		shortest = refused.RetryAfter
		if refused.Status == http.StatusUnauthorized || refused.Status == http.StatusConflict {
			shortest = refusedPause
		}
	}
	return min(shortest, 2*longestPause) + rand.N(bound) //nolint:gosec // spreads, and hides nothing
}

// once connects, and hands calls on until the connection ends.
func (a *Agent) once(ctx context.Context) error {
	session, identity, err := a.connect(ctx)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	stop := context.AfterFunc(ctx, session.Close)
	defer stop()
	a.Log.Info("connected with KQueen", "server", a.Server, "cluster", a.Cluster)
	a.connected.Store(true)
	defer a.connected.Store(false)
	go a.renew(ctx, identity)
	go func() { _ = a.serve.Serve(session.Listener()) }() // it ends with the session
	defer session.Close()
	return session.Beat(ctx, a.Heartbeat-rand.N(a.Heartbeat/10)) //nolint:gosec // spreads, and hides nothing
}

// connect dials KQueen with what the agent has, the newest first, and with the one-time token where nothing of that is good.
func (a *Agent) connect(ctx context.Context) (*tunnel.Session, Identity, error) {
	if a.instance == "" {
		instance, err := readInstance(ctx, a.API)
		if err != nil {
			return nil, Identity{}, fmt.Errorf("find out which cluster this is: %w", err)
		}
		a.instance = instance
	}
	have, err := a.Identity.Load(ctx)
	if err != nil {
		return nil, have, fmt.Errorf("read the agent's identity: %w", err)
	}
	session, have, err := a.dialAny(ctx, have)
	if refused, ok := errors.AsType[*tunnel.RefusedError](err); !ok || refused.Status != http.StatusUnauthorized {
		return session, have, err
	}
	if have, err = a.enrol(ctx, err); err != nil {
		return nil, have, err
	}
	session, err = a.dial(ctx, have.Current)
	return session, have, err
}

// dialAny dials with each secret of an identity, and returns the identity with the one alone that KQueen has taken.
func (a *Agent) dialAny(ctx context.Context, have Identity) (*tunnel.Session, Identity, error) {
	err := error(&tunnel.RefusedError{Status: http.StatusUnauthorized})
	for _, secret := range []string{have.Next, have.Current} {
		if secret == "" {
			continue
		}
		var session *tunnel.Session
		if session, err = a.dial(ctx, secret); err == nil {
			if secret != have.Current || have.Next != "" {
				have = Identity{Current: secret, Since: have.Since}
				if secret == have.Next {
					have.Since = time.Now()
				}
			}
			return session, have, nil
		}
		if refused, ok := errors.AsType[*tunnel.RefusedError](err); !ok || refused.Status != http.StatusUnauthorized {
			return nil, have, err
		}
	}
	return nil, have, err
}

func (a *Agent) dial(ctx context.Context, secret string) (*tunnel.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	return tunnel.Dial(ctx, a.client, a.path("connect"), a.header(secret), a.Log)
}
