package storegate

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/handover"
	"kqueen.io/kqueen/internal/platform/healthz"
)

// Process is a gate that runs without KQueen: its tenants are in a file, so that no restart, crash or hang of KQueen keeps an
// API server from its data. All fields without a default are required.
type Process struct {
	// Listen is the address and the port on which tenants connect.
	Listen string
	// Handover is the folder in which it offers the port to the process that takes its place, and gets it from the one before it.
	Handover string
	// Leave is closed when another process has taken its place: tenants are told to connect anew, requests under way are answered,
	// and after a while watches are cut, which begin anew where they were. Nil for never.
	Leave <-chan struct{}
	// LeaveTimeout bounds how long that goes on: a watch does not end by itself. Zero means 20 seconds.
	LeaveTimeout time.Duration
	// Store are host:port of the etcd's members. A host may be a name, which is looked up whenever a connection is made.
	Store []string
	// StoreCA is the file with the authority of etcd's certificate.
	StoreCA string
	// ClientCA is the file with the authority of the tenants' certificates. It must not be one that etcd trusts.
	ClientCA string
	// Certificate and Key are the files with what the gate presents to tenants. They are read again for each connection.
	Certificate, Key string
	// Tenants is the file of its [Table].
	Tenants string
	// Usage is the file that says what tenants hold, for [ReadUsage], in a folder that is the process' own.
	Usage string
	// Health is where "GET /healthz" answers 200 while it works, and not at all while it hangs.
	Health string
	Log    *slog.Logger
}

// Args are the process' arguments for the command line, which has a flag for each field.
func (p Process) Args() []string {
	return []string{
		"--listen", p.Listen, "--handover", p.Handover, "--store", strings.Join(p.Store, ","), "--store-ca", p.StoreCA, "--client-ca", p.ClientCA,
		"--certificate", p.Certificate, "--key-file", p.Key, "--tenants", p.Tenants, "--usage", p.Usage, "--health", p.Health,
	}
}

// Run serves until ctx ends.
func (p Process) Run(ctx context.Context) error {
	storeCA, err := readAuthority(p.StoreCA)
	if err != nil {
		return err
	}
	clients, err := readAuthority(p.ClientCA)
	if err != nil {
		return err
	}
	self, err := newSelf(time.Now())
	if err != nil {
		return err
	}
	l, taken, err := handover.Listen(ctx, p.Handover, p.Listen)
	if err != nil {
		return fmt.Errorf("open the store gate's port: %w", err)
	}
	health, err := net.Listen("tcp", p.Health)
	if err != nil {
		return errors.Join(fmt.Errorf("open the store gate's port for health: %w", err), l.Close())
	}
	own := &ownCertificate{certificate: p.Certificate, key: p.Key}
	g := newGate(ctx, config{store: p.Store, storeAuthority: storeCA, clients: clients, certificate: own.get, self: self, log: p.Log})
	// With the tenants that there are, before the first connection is accepted.
	file := follow(g, p.Tenants, p.Log)
	file.Look()
	if taken {
		// The one before has taken writes while these were measured.
		g.doubtAll()
	}
	return p.serve(ctx, g, file, l, health)
}

const defaultLeaveTimeout = 20 * time.Second

func (p Process) serve(ctx context.Context, g *gate, file *atomicfile.Follower, l, health net.Listener) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	staying, leave := context.WithCancel(ctx)
	defer leave()
	stop := context.AfterFunc(ctx, g.close)
	defer stop()
	group.Go(func() error {
		defer end()
		select {
		case <-p.Leave:
		case <-ctx.Done():
			return nil
		}
		p.Log.Info("another process accepts connections now; what is under way is answered")
		leave()
		g.leave(ctx, cmp.Or(p.LeaveTimeout, defaultLeaveTimeout))
		return nil
	})
	group.Go(func() error { return g.serve(l) })
	group.Go(func() error {
		handover.Offer(staying, p.Handover, l, func(err error) { p.Log.Error("no other process can take the place of this one now", "error", err) })
		return nil
	})
	group.Go(func() error {
		// It is closed by one that leaves: the port is free then for another one of the same build.
		return healthz.Serve(staying, health, func(ctx context.Context) { g.alive(ctx, l.Addr().String()) }, nil)
	})
	group.Go(func() error { return file.Run(ctx) })
	group.Go(func() error { return g.tell(staying, p.Usage, p.Log) })
	return group.Wait()
}

func readAuthority(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read an authority of the store gate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("read an authority of the store gate: %s holds no certificate", file)
	}
	return pool, nil
}

// ownCertificate is what a gate presents: what its files say, or said last while they are being replaced.
type ownCertificate struct {
	certificate, key string

	mu   sync.Mutex
	last *tls.Certificate
}

func (c *ownCertificate) get() (*tls.Certificate, error) {
	loaded, err := tls.LoadX509KeyPair(c.certificate, c.key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.last = &loaded
	}
	if c.last == nil {
		return nil, fmt.Errorf("read the store gate's certificate: %w", err)
	}
	return c.last, nil
}

// follow has a gate have the tenants of a file. Without one, or with one that cannot be read, the tenants stay as they are.
func follow(g *gate, file string, log *slog.Logger) *atomicfile.Follower {
	return &atomicfile.Follower{
		Path: file,
		Take: func(data []byte) error {
			_, says, err := parseTable(data)
			if err != nil {
				return err
			}
			return g.take(says)
		},
		Failed: func(err error) { log.Error("tenants of the store gate stay as they are", "error", err) },
	}
}
