// Package datastore keeps many tenants in one etcd: a keyspace, a role and a user each.
//
// It hides how a keyspace is walled off (etcd users, roles and range grants), how half-done work is repaired, and which etcd
// is good enough. The reconciler of control planes calls [Store.Ensure] and [Store.Remove]; a program that
// runs an etcd takes its flags from [ServerArgs]. Tenants do not use it: their API servers call etcd with a client certificate
// whose common name is [Keyspace.User], and that name is all the authority they have.
//
// What etcd's own walls do not hold, on the versions that [Floor] lets in, and package storegate does before the store of an
// installation:
//   - the space quota is one for all: a tenant that fills the store stops the writes of the others;
//   - a tenant can list all lease numbers, revoke a foreign lease that has no key yet, and read the member list and status;
//   - a watch that was open when its user was deleted goes on until its connection ends (it sees its own range only);
//   - who holds a certificate with the common name "root" is root: the authority that signs for etcd's clients must sign for no others.
package datastore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// DefaultCallTimeout is the deadline of one call when [Config.CallTimeout] is zero.
// Without one, a call to a dead etcd hangs for as long as its caller lets it.
const DefaultCallTimeout = 5 * time.Second

// Config says how to reach an etcd as its root user.
type Config struct {
	// Endpoints are the client URLs of all members, "https://host:port".
	Endpoints []string
	// TLS holds the client certificate with the common name "root" and the authority of the servers' certificates.
	TLS *tls.Config
	// CallTimeout limits every single call; zero means DefaultCallTimeout.
	CallTimeout time.Duration
}

func (c Config) validate() error {
	if c.TLS == nil {
		return errors.New("datastore config: TLS is missing: give the certificate of etcd's root user")
	}
	if len(c.Endpoints) == 0 {
		return errors.New("datastore config: Endpoints is empty: give the client URL of every member")
	}
	for i, e := range c.Endpoints {
		u, err := url.Parse(e)
		if err != nil || u.Scheme != "https" || u.Port() == "" {
			return fmt.Errorf("datastore config: Endpoints[%d] %q is not of the form https://host:port", i, e)
		}
	}
	return nil
}

// Store is one etcd, spoken to as its root user. It is safe for concurrent use, by several processes too.
type Store struct {
	client    *clientv3.Client
	endpoints []string // all, as configured
	timeout   time.Duration
	found     sync.Map // of Keyspace to what Ensure last found it to have, granted

	mu     sync.Mutex
	shrunk time.Time // when a member's file was made smaller last
}

// Open dials etcd and asks every endpoint for its version. An endpoint below [Floor] is a [*VersionError], whatever the others say.
// Endpoints that do not answer are left out of this Store, so that one dead member of three does not keep KQueen from starting;
// when half or more are silent Open fails.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.CallTimeout <= 0 {
		c.CallTimeout = DefaultCallTimeout
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            c.Endpoints,
		TLS:                  c.TLS,
		DialTimeout:          c.CallTimeout,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: c.CallTimeout,
		Logger:               zap.NewNop(), // failures come back as errors; the client would tell each of them twice
	})
	if err != nil {
		return nil, fmt.Errorf("dial etcd: %w", err)
	}
	s := &Store{client: client, endpoints: c.Endpoints, timeout: c.CallTimeout}
	if err := s.admit(ctx); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return s, nil
}

// admit keeps only the endpoints whose version was seen and is good.
func (s *Store) admit(ctx context.Context) error {
	var good []string
	var silent error
	for _, m := range s.ask(ctx) {
		if m.err != nil {
			silent = errors.Join(silent, fmt.Errorf("ask etcd %s for its version: %w", m.endpoint, m.err))
			continue
		}
		if err := checkVersion(m.endpoint, m.status.Version); err != nil {
			return err
		}
		good = append(good, m.endpoint)
	}
	if 2*len(good) <= len(s.endpoints) {
		return fmt.Errorf("%d of %d etcd endpoints answer, more than half must: %w", len(good), len(s.endpoints), silent)
	}
	s.client.SetEndpoints(good...)
	return nil
}

// Close ends all connections. The Store is of no use afterwards.
func (s *Store) Close() error {
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("close etcd client: %w", err)
	}
	return nil
}

// call runs f under the Store's deadline and wraps its error with the act.
func call[T any](ctx context.Context, s *Store, act string, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	v, err := f(ctx)
	if err != nil {
		return v, fmt.Errorf("%s: %w", act, err)
	}
	return v, nil
}
