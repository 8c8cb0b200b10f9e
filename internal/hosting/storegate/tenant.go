package storegate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// What one tenant may ask of a store that it shares.
const (
	// bytesPerSecond is what a tenant may write for long. etcd keeps what was overwritten for eight minutes at worst: that
	// is one gigabyte, of a file that holds eight.
	bytesPerSecond = 2 << 20
	// bytesAtOnce is what it may write before that counts.
	bytesAtOnce = 128 << 20
	// leastBytes is what a write counts for: etcd keeps something of each, also of a deletion.
	leastBytes = 256
	// leasesPerSecond and leasesAtOnce are those of grants and renewals. An API server asks for one in ten seconds.
	leasesPerSecond, leasesAtOnce = 10, 500
	// longestLease bounds, with those, how many leases etcd keeps of a tenant. Those of API servers last an hour.
	longestLease = 3 * 60 * 60
	// listsAtOnce is how many reads of many keys are answered at the same time: each answer is in memory as a whole.
	listsAtOnce = 16
	// writingAtOnce bounds the bytes of a tenant's writes that are under way: etcd syncs to the disk together what comes together, and the
	// reads of all tenants wait for that (BenchmarkBeside: a p99 of 9.9 ms without a bound, 4.6 with one of 1 MiB, 3.7 with this one). A write that is
	// larger goes alone.
	writingAtOnce = 256 << 10
	// paceTimeout is how long a write waits for its turn before it is refused.
	paceTimeout = 10 * time.Second
)

// tenant is one control plane: who it is to etcd, and what it may ask.
type tenant struct {
	uid        string
	scope      scope
	group      *group
	credential atomic.Pointer[tls.Certificate]
	conn       *grpc.ClientConn
	count      *counter
	shared
	bytes, leases *rate.Limiter
	// lists and writing bound what is under way.
	lists, writing *semaphore.Weighted
	log            *slog.Logger
	// life ends with the tenant.
	life context.Context
	end  context.CancelFunc
}

// shared is what all tenants have together.
type shared struct {
	// measuring has a place for each measurement that may go on at the same time.
	measuring chan struct{}
	space     *space
}

// store is the etcd behind the gate.
type store struct {
	// addresses are host:port of its members. One is spoken to at a time, the first that answers.
	addresses []string
	authority *x509.CertPool
}

// members has a connection find the members, each of which proves that it is the one of that name.
func (s store) members() resolver.Builder {
	all := manual.NewBuilderWithScheme(storeScheme)
	var state resolver.State
	for _, a := range s.addresses {
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: a, ServerName: a}}})
	}
	all.InitialState(state)
	return all
}

// storeScheme is that of the one target of connections to a store.
const storeScheme = "store"

// newTenant makes no call yet.
func newTenant(ctx context.Context, s store, k datastore.Keyspace, g *group, with shared, log *slog.Logger) (*tenant, error) {
	t := &tenant{
		uid: k.UID(), scope: newScope(k), group: g, count: newCounter(), shared: with, log: log.With("tenant", k.UID()),
		bytes: rate.NewLimiter(bytesPerSecond, bytesAtOnce), leases: rate.NewLimiter(leasesPerSecond, leasesAtOnce),
		lists: semaphore.NewWeighted(listsAtOnce), writing: semaphore.NewWeighted(writingAtOnce),
	}
	conn, err := grpc.NewClient(storeScheme+":///members", grpc.WithResolvers(s.members()),
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
			MinVersion: tls.VersionTLS13, RootCAs: s.authority,
			// A certificate that was renewed is presented by the next connection.
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return t.credential.Load(), nil },
		})),
		grpc.WithDefaultCallOptions(raw(), grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithDisableServiceConfig(), grpc.WithNoProxy(),
	)
	if err != nil {
		return nil, fmt.Errorf("connect tenant %s to its store: %w", k.UID(), err)
	}
	t.conn = conn
	t.life, t.end = context.WithCancel(ctx)
	return t, nil
}

// close ends whatever the tenant has open.
func (t *tenant) close() {
	t.end()
	_ = t.conn.Close()
}

// outgoing has a call of the tenant continue at etcd. Of its metadata only that goes on which says how to answer: etcd
// would take others for credentials.
func outgoing(ctx context.Context) context.Context {
	sent, _ := metadata.FromIncomingContext(ctx)
	on := metadata.MD{}
	for _, key := range []string{rpctypes.MetadataRequireLeaderKey, rpctypes.MetadataClientAPIVersionKey} {
		on.Append(key, sent.Get(key)...)
	}
	return metadata.NewOutgoingContext(ctx, on)
}

// pass has etcd answer, and leaves the answer as it is.
func (t *tenant) pass(ctx context.Context, method string, request any) (*frame, error) {
	answer := &frame{}
	if err := t.conn.Invoke(outgoing(ctx), method, request, answer); err != nil {
		return nil, explain(err)
	}
	return answer, nil
}

var errReadOnly = status.Error(codes.Unavailable, "store gate: the cluster can only be read for now, as while it is being restored; try again later")

// explain says in words of the gate why etcd denies what the gate has allowed: the tenant has only [datastore.ReadOnly] left.
func explain(err error) error {
	if status.Code(err) == codes.PermissionDenied {
		return errReadOnly
	}
	return err
}

// pace waits until a tenant may write so many bytes more.
func (t *tenant) pace(ctx context.Context, bytes int64) error {
	ctx, cancel := context.WithTimeout(ctx, paceTimeout)
	defer cancel()
	if err := t.bytes.WaitN(ctx, int(min(max(bytes, leastBytes), bytesAtOnce))); err != nil {
		return status.Errorf(codes.ResourceExhausted, "store gate: this control plane writes more than %d MiB a second to a data store that it shares; write less at once", bytesPerSecond>>20)
	}
	return nil
}

// paceLease waits until a tenant may grant or renew a lease more.
func (t *tenant) paceLease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, paceTimeout)
	defer cancel()
	if err := t.leases.Wait(ctx); err != nil {
		return status.Errorf(codes.ResourceExhausted, "store gate: this control plane asks for more than %d leases a second", leasesPerSecond)
	}
	return nil
}
