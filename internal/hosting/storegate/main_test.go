package storegate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"go.uber.org/zap"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/freeport"
)

const asEtcd = "KQUEEN_TEST_ETCD"

// env is the etcd of a test: one for all, but for one that fills it.
var env server

type server struct {
	program string
	address string // host:port
	metrics string // URL
	keys    pki.Bundle
	store   *datastore.Store
}

func TestMain(m *testing.M) {
	if os.Getenv(asEtcd) == "1" {
		etcdmain.Main(os.Args)
		return
	}
	flag.Parse()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kqueen-gate-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if env.program, err = program(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stop, err := env.start(ctx, dir, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, "start etcd:", err)
		return 1
	}
	defer stop()
	return m.Run()
}

// program is an etcd: the one that KQueen is, in which no race detector looks at upstream's code; with -short, where nothing
// is built, this test binary.
func program(ctx context.Context) (string, error) {
	if testing.Short() {
		return os.Args[0], nil
	}
	kqueen, err := controlplanetest.Kqueen(ctx)
	return filepath.Join(filepath.Dir(kqueen), "etcd"), err
}

// start runs an etcd that holds so many bytes, or as many as those of installations.
func (s *server) start(ctx context.Context, dir string, quota int64) (stop func(), err error) {
	set, err := pki.Store(pki.StoreParams{Name: "default"})
	if err != nil {
		return nil, err
	}
	if s.keys, _, err = pki.Issue(nil, set, nil, time.Now()); err != nil {
		return nil, err
	}
	ports, err := freeport.TakeSeveral(3)
	if err != nil {
		return nil, err
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range s.keys.Names() {
		if err := os.WriteFile(file(name), s.keys[name], 0o600); err != nil {
			return nil, err
		}
	}
	args, err := datastore.ServerArgs(datastore.ServerConfig{
		Name: "m0", DataDir: file("data"), ClientPort: ports[0], PeerPort: ports[1], HTTPPort: ports[2],
		CertFile: file("server.crt"), KeyFile: file("server.key"), ClientCAFile: file("ca.crt"), QuotaBytes: quota,
		PeerCertFile: file("peer.crt"), PeerKeyFile: file("peer.key"), PeerCAFile: file("peer-ca.crt"),
	})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(s.program, args...) // it lives as long as the tests do, not as long as ctx
	cmd.Env = append(os.Environ(), asEtcd+"=1")
	log, err := os.Create(file("etcd.log"))
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = log.Close() }
	s.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	s.metrics = "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[2])) + "/metrics"
	root, err := datastore.RootTLS(s.keys["ca.crt"], s.keys["root.crt"], s.keys["root.key"])
	if err == nil {
		// Open waits for the server within the deadline of a call.
		s.store, err = datastore.Open(ctx, datastore.Config{Endpoints: []string{"https://" + s.address}, TLS: root, CallTimeout: 30 * time.Second})
	}
	if err == nil {
		err = s.store.Secure(ctx)
	}
	if err != nil {
		stop()
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	return stop, nil
}

// rig is a gate, and what KQueen does for it.
type rig struct {
	gate    *gate
	address string
	keys    pki.Bundle
	table   *Table
	file    *atomicfile.Follower
}

func newRig(t testing.TB) *rig {
	t.Helper()
	set, err := pki.StoreGate("default")
	if err != nil {
		t.Fatal(err)
	}
	keys, _, err := pki.Issue(nil, set, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	own, err := tls.X509KeyPair(keys["server.crt"], keys["server.key"])
	if err != nil {
		t.Fatal(err)
	}
	self, err := newSelf(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{address: l.Addr().String(), keys: keys}
	r.gate = newGate(t.Context(), config{
		store: []string{env.address}, storeAuthority: pool(env.keys["ca.crt"]), clients: pool(keys["ca.crt"]),
		certificate: func() (*tls.Certificate, error) { return &own, nil }, self: self, log: slog.New(slog.DiscardHandler),
	})
	if r.table, err = OpenTable(filepath.Join(t.TempDir(), "tenants.json")); err != nil {
		t.Fatal(err)
	}
	r.file = follow(r.gate, r.table.file, slog.New(slog.DiscardHandler))
	ended := make(chan error, 1)
	go func() { ended <- r.gate.serve(l) }()
	t.Cleanup(func() {
		r.gate.close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

func pool(authority []byte) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(authority)
	return p
}

// tenant makes a keyspace in the store and lets it in at the gate.
func (r *rig) tenant(t testing.TB, uid, group string, quota int64) datastore.Keyspace {
	t.Helper()
	k := keyspace(t, uid)
	if err := env.store.Ensure(t.Context(), k, datastore.ReadWrite); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's own context has ended
		defer cancel()
		if err := env.store.Remove(ctx, k); err != nil {
			t.Error(err)
		}
	})
	r.letIn(t, k, group, quota)
	return k
}

func (r *rig) letIn(t testing.TB, k datastore.Keyspace, group string, quota int64) {
	t.Helper()
	limit := &quota
	if quota < 0 {
		limit = nil
	}
	certificate, key := issued(t, env.keys, k.User())
	if err := r.table.Set(k.UID(), Tenant{Group: group, Certificate: certificate, Key: key}, limit); err != nil {
		t.Fatal(err)
	}
	r.file.Look()
}

func keyspace(t testing.TB, uid string) datastore.Keyspace {
	t.Helper()
	k, err := datastore.NewKeyspace(uid)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// issued is a client certificate, and its key, of an authority that is called "ca".
func issued(t testing.TB, authority pki.Bundle, name string) (certificate, key []byte) {
	t.Helper()
	set := pki.Set{Leaves: []pki.Leaf{{Name: "client", Authority: "store-ca", CommonName: name, Usage: pki.Client, Lifetime: time.Hour}}}
	keys, _, err := pki.Issue(nil, set, authority.Signer("ca", "store-ca"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return keys["client.crt"], keys["client.key"]
}

// as calls the gate as a tenant's API server does.
func (r *rig) as(t testing.TB, k datastore.Keyspace) *clientv3.Client {
	t.Helper()
	return dial(t, r.address, r.keys, r.keys, k.User())
}

// direct calls etcd itself, as the gate does for a tenant.
func direct(t testing.TB, k datastore.Keyspace) *clientv3.Client {
	t.Helper()
	return dial(t, env.address, env.keys, env.keys, k.User())
}

func dial(t testing.TB, address string, server, authority pki.Bundle, name string) *clientv3.Client {
	t.Helper()
	pair, err := tls.X509KeyPair(issued(t, authority, name))
	if err != nil {
		t.Fatal(err)
	}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"https://" + address}, Logger: zap.NewNop(), Context: t.Context(),
		// Presented whatever authorities the server asks for: a polite client would keep it back.
		TLS: &tls.Config{RootCAs: pool(server["ca.crt"]), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// deadline limits everything that a test does.
func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// await polls until ok.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx := deadline(t)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s did not come to pass", what)
		}
	}
}

// denied says whether a call failed with one of etcd's errors.
func denied(err, with error) bool {
	return err != nil && errors.Is(rpctypes.Error(err), rpctypes.Error(with))
}
