package datastore_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"flag"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"go.uber.org/zap"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/freeport"
)

const asEtcd = "KQUEEN_TEST_ETCD"

// env is the one etcd of this test process, started by TestMain with ServerArgs and secured.
var env struct {
	program  string
	endpoint string
	ca       *authority
	store    *datastore.Store
	files    datastore.ServerConfig // those of its certificates are good for others
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
	dir, err := os.MkdirTemp("", "kqueen-etcd-")
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
	stop, err := startEtcd(ctx, dir)
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

func startEtcd(ctx context.Context, dir string) (stop func(), err error) {
	clients, err := newAuthority("clients")
	if err != nil {
		return nil, err
	}
	peers, err := newAuthority("peers")
	if err != nil {
		return nil, err
	}
	ports, err := freeport.TakeSeveral(3)
	if err != nil {
		return nil, err
	}
	c := datastore.ServerConfig{
		Name: "m0", DataDir: filepath.Join(dir, "data"), ClientPort: ports[0], PeerPort: ports[1], HTTPPort: ports[2], QuotaBytes: 64 << 20,
		CertFile: filepath.Join(dir, "server.crt"), KeyFile: filepath.Join(dir, "server.key"), ClientCAFile: filepath.Join(dir, "clients.crt"),
		PeerCertFile: filepath.Join(dir, "peer.crt"), PeerKeyFile: filepath.Join(dir, "peer.key"), PeerCAFile: filepath.Join(dir, "peers.crt"),
	}
	for path, write := range map[string]func(string) error{
		c.ClientCAFile: clients.write, c.PeerCAFile: peers.write,
		c.CertFile:     func(p string) error { return clients.writePair("server", p, c.KeyFile) },
		c.PeerCertFile: func(p string) error { return peers.writePair("peer", p, c.PeerKeyFile) },
	} {
		if err := write(path); err != nil {
			return nil, err
		}
	}
	stop, err = launch(c, filepath.Join(dir, "etcd.log"))
	if err != nil {
		return nil, err
	}
	env.files = c
	env.endpoint, env.ca = fmt.Sprintf("https://127.0.0.1:%d", c.ClientPort), clients
	tlsConfig, err := clients.client("root")
	if err != nil {
		return stop, err
	}
	// Open waits for the server within the deadline of a call.
	env.store, err = datastore.Open(ctx, datastore.Config{Endpoints: []string{env.endpoint}, TLS: tlsConfig, CallTimeout: 30 * time.Second})
	if err == nil {
		err = env.store.Secure(ctx)
	}
	if err != nil {
		stop()
		text, _ := os.ReadFile(filepath.Join(dir, "etcd.log"))
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	return stop, nil
}

// launch starts an etcd, which writes what it says to a file.
func launch(c datastore.ServerConfig, said string) (stop func(), err error) {
	args, err := datastore.ServerArgs(c)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(env.program, args...) // it lives as long as the tests do, and not as long as a context
	cmd.Env = append(os.Environ(), asEtcd+"=1")
	log, err := os.Create(said)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = log.Close() }, nil
}

type authority struct {
	cert *x509.Certificate
	der  []byte
	key  *ecdsa.PrivateKey
}

func template(cn string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: cn},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

func newAuthority(cn string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template(cn)
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage, t.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert: cert, der: der, key: key}, err
}

func (a *authority) issue(cn string, server bool) (der []byte, key *ecdsa.PrivateKey, err error) {
	key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	t := template(cn)
	if server {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		t.IPAddresses, t.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"}
	}
	der, err = x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	return der, key, err
}

func (a *authority) write(path string) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.der}), 0o600)
}

func (a *authority) writePair(cn, certPath, keyPath string) error {
	der, key, err := a.issue(cn, true)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(keyPath, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(certPath, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

// client is the TLS side of an etcd client that is called cn. The server is always checked against the real authority.
func (a *authority) client(cn string) (*tls.Config, error) {
	der, key, err := a.issue(cn, false)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(env.ca.cert)
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, nil
}

// clientFor is an etcd client that calls itself cn; Store is not between it and etcd.
func clientFor(t *testing.T, cn string) *clientv3.Client {
	t.Helper()
	tlsConfig, err := env.ca.client(cn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{env.endpoint}, TLS: tlsConfig, Logger: zap.NewNop(), Context: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// keyspace names a keyspace that is removed after the test.
func keyspace(t *testing.T, uid string) datastore.Keyspace {
	t.Helper()
	k, err := datastore.NewKeyspace(uid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's own context has ended
		defer cancel()
		if err := env.store.Remove(ctx, k); err != nil {
			t.Error(err)
		}
	})
	return k
}

// deadline limits everything a test does against etcd.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
