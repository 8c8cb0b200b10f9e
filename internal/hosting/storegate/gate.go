// Package storegate stands before an etcd that many tenants share, and speaks etcd's own language to each of them.
//
// It knows a tenant by its client certificate, holds every request to the tenant's keyspace and leases, counts what the control
// planes of an organization hold, and refuses what would grow beyond their quota. To etcd it is, for each tenant, the user
// that has that tenant's role alone, so that etcd's own access control is the second wall. Requests are decoded, judged and
// encoded anew; answers to reads and watches pass through as they are.
//
// It hides how bytes are counted while others write, how leases are told apart and what of etcd API servers need. It runs as a
// [Process] of its own, which follows a [Table] of tenants on disk: the reconciler of control planes writes that. What is
// for the operator of an etcd (members, snapshots, users, compaction) is not offered: that is package datastore's.
package storegate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"math"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// config says what a gate stands before, and for whom.
type config struct {
	// store are host:port of the etcd's members, whose certificates storeAuthority has signed.
	store          []string
	storeAuthority *x509.CertPool
	// clients is the authority of the tenants' certificates, and certificate is what the gate presents to them.
	clients     *x509.CertPool
	certificate func() (*tls.Certificate, error)
	// self is by what the gate calls itself, to find out whether it hangs: see newSelf.
	self tls.Certificate
	log  *slog.Logger
}

// gate is safe for concurrent use.
type gate struct {
	store     store
	log       *slog.Logger
	measuring chan struct{}
	space     *space
	server    *grpc.Server
	// calls is how the gate calls itself.
	calls *tls.Config
	life  context.Context
	end   context.CancelFunc

	mu      sync.RWMutex
	tenants map[string]*tenant // by the etcd user that they are
	groups  map[string]*group
}

const (
	// maxRequest is more than etcd takes.
	maxRequest = 4 << 20
	// maxStreams bounds what one connection asks for at the same time. An API server has a connection for each resource.
	maxStreams = 4096
	// handshakeTimeout is how long a client may take until it is known.
	handshakeTimeout = 10 * time.Second
)

// newGate makes a gate without tenants.
func newGate(ctx context.Context, c config) *gate {
	clients := c.clients.Clone()
	clients.AddCert(c.self.Leaf)
	g := &gate{
		calls: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: c.clients, Certificates: []tls.Certificate{c.self}},
		store: store{c.store, c.storeAuthority}, log: c.log, measuring: make(chan struct{}, measuringAtOnce), space: newSpace(),
		tenants: map[string]*tenant{}, groups: map[string]*group{},
	}
	g.life, g.end = context.WithCancel(ctx)
	g.server = grpc.NewServer(
		grpc.Creds(credentials.NewTLS(&tls.Config{
			MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.certificate() },
		})),
		grpc.ForceServerCodecV2(codec{}), grpc.UnknownServiceHandler(refuse),
		grpc.MaxRecvMsgSize(maxRequest), grpc.MaxSendMsgSize(math.MaxInt32), grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(handshakeTimeout),
		// An API server has some hundred connections, most of which are silent.
		grpc.ReadBufferSize(4<<10),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Minute, Timeout: 20 * time.Second}),
	)
	for _, s := range services() {
		g.server.RegisterService(&s, g)
	}
	return g
}

// serve answers on l until close is called.
func (g *gate) serve(l net.Listener) error {
	go g.followSpace()
	return g.server.Serve(l)
}

// leave accepts no connection any more, tells tenants to connect anew, and waits until requests are answered and streams have ended,
// for so long at most.
func (g *gate) leave(ctx context.Context, within time.Duration) {
	done := make(chan struct{})
	go func() {
		g.server.GracefulStop()
		close(done)
	}()
	patience := time.NewTimer(within)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	case <-ctx.Done():
	}
}

// doubtAll has all tenants measured again in a minute.
func (g *gate) doubtAll() {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, t := range g.tenants {
		t.count.doubt(0)
	}
}

// close cuts all connections.
func (g *gate) close() {
	g.end()
	g.server.Stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	for user := range g.tenants {
		g.drop(user)
	}
}

// caller is the tenant that asks.
func (g *gate) caller(ctx context.Context) (*tenant, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, status.Error(codes.Unauthenticated, "store gate: who asks is not known")
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.VerifiedChains[0]) == 0 {
		return nil, status.Error(codes.Unauthenticated, "store gate: there is no client certificate")
	}
	user := info.State.VerifiedChains[0][0].Subject.CommonName
	g.mu.RLock()
	defer g.mu.RUnlock()
	t := g.tenants[user]
	if t == nil {
		return nil, status.Errorf(codes.Unavailable, "store gate: %q is no control plane with a keyspace here, or not yet", user)
	}
	return t, nil
}

// take brings the gate to what a table says, which is valid. Tenants that are not in it any more are cut off; for the others
// nothing changes but what has changed.
func (g *gate) take(c contents) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for user, t := range g.tenants {
		if wanted, stays := c.tenants[user]; !stays || g.groups[wanted.group] != t.group {
			g.drop(user)
		}
	}
	for user, wanted := range c.tenants {
		if err := g.admitTenant(user, wanted); err != nil {
			return err
		}
	}
	for name, of := range g.groups {
		quota, limited := c.quotas[name]
		if !limited {
			quota = noQuota
		}
		of.setQuota(quota)
	}
	return nil
}

// admitTenant is called with the lock held.
func (g *gate) admitTenant(user string, wanted member) error {
	if t := g.tenants[user]; t != nil {
		t.credential.Store(wanted.credential)
		return nil
	}
	of := g.groups[wanted.group]
	if of == nil {
		of = newGroup()
	}
	t, err := newTenant(g.life, g.store, wanted.keyspace, of, shared{g.measuring, g.space}, g.log)
	if err != nil {
		return err
	}
	t.credential.Store(wanted.credential)
	t.startCounting()
	of.join(t)
	g.groups[wanted.group], g.tenants[user] = of, t
	return nil
}

// drop is called with the lock held.
func (g *gate) drop(user string) {
	t := g.tenants[user]
	delete(g.tenants, user)
	t.close()
	if t.group.leave(t) > 0 {
		return
	}
	for name, of := range g.groups {
		if of == t.group {
			delete(g.groups, name)
		}
	}
}

// member is one tenant as a table has it.
type member struct {
	keyspace   datastore.Keyspace
	group      string
	credential *tls.Certificate
}

// contents are what a table says: tenants by the etcd user that they are, and quotas by group.
type contents struct {
	tenants map[string]member
	quotas  map[string]int64
}
