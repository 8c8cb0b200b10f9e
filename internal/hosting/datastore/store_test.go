package datastore_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/version"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

func TestOpenRefusesBadConfig(t *testing.T) {
	tlsConfig, err := env.ca.client("root")
	if err != nil {
		t.Fatal(err)
	}
	good := []string{env.endpoint}
	for name, c := range map[string]datastore.Config{
		"TLS":                 {Endpoints: good},
		"Endpoints is empty":  {TLS: tlsConfig},
		"Endpoints[1] \"http": {TLS: tlsConfig, Endpoints: []string{env.endpoint, "http://127.0.0.1:2379"}},
		"Endpoints[0] \"127":  {TLS: tlsConfig, Endpoints: []string{"127.0.0.1:2379"}},
		"Endpoints[0] \"\"":   {TLS: tlsConfig, Endpoints: []string{""}},
		"of the form":         {TLS: tlsConfig, Endpoints: []string{"https://etcd"}},
	} {
		s, err := datastore.Open(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error that names %s", err, name)
		}
		if s != nil {
			_ = s.Close()
		}
	}
}

func TestOpenWithSilentEndpoints(t *testing.T) {
	tlsConfig, err := env.ca.client("root")
	if err != nil {
		t.Fatal(err)
	}
	dead := "https://127.0.0.1:1"
	twin := strings.Replace(env.endpoint, "127.0.0.1", "localhost", 1)
	cases := map[string]struct {
		reason    string
		endpoints []string
		ok        bool
	}{
		"all dead":     {"nothing answers", []string{dead}, false},
		"half dead":    {"what is silent may hold the other half of the cluster", []string{env.endpoint, dead}, false},
		"one of three": {"the cluster lives without one", []string{dead, env.endpoint, twin}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ctx := deadline(t)
			s, err := datastore.Open(ctx, datastore.Config{Endpoints: c.endpoints, TLS: tlsConfig, CallTimeout: 2 * time.Second})
			if !c.ok {
				if err == nil {
					t.Fatalf("opened, although %s", c.reason)
				}
				if !strings.Contains(err.Error(), dead) {
					t.Errorf("%v does not name the silent endpoint", err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			defer func() { _ = s.Close() }()
			h, err := s.Health(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{dead}, h.Silent); d != "" {
				t.Errorf("silent: -want +got\n%s", d)
			}
		})
	}
}

func TestCallsEndWhenEtcdIsGone(t *testing.T) {
	tlsConfig, err := env.ca.client("root")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := datastore.Open(ctx, datastore.Config{Endpoints: []string{env.endpoint}, TLS: tlsConfig}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the caller's cancellation", err)
	}
}

func TestClusterID(t *testing.T) {
	first, err := env.store.ClusterID(deadline(t))
	if err != nil || first == "" || first == "0" {
		t.Fatalf("%q, %v", first, err)
	}
	if again, err := env.store.ClusterID(deadline(t)); err != nil || again != first {
		t.Errorf("%q, %v; want %q", again, err, first)
	}
}

func TestHealth(t *testing.T) {
	h, err := env.store.Health(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if h.DBBytes <= 0 || h.DBInUseBytes <= 0 || h.DBInUseBytes > h.DBBytes {
		t.Errorf("sizes %d, %d in use", h.DBBytes, h.DBInUseBytes)
	}
	h.DBBytes, h.DBInUseBytes = 0, 0
	if d := cmp.Diff(datastore.Health{Version: version.Version, QuotaBytes: 64 << 20, Members: 1}, h); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func goodServer() datastore.ServerConfig {
	return datastore.ServerConfig{
		Name: "m0", DataDir: "/d", ClientPort: 2379, PeerPort: 2380, HTTPPort: 2381,
		CertFile: "/s.crt", KeyFile: "/s.key", ClientCAFile: "/clients.crt", PeerCertFile: "/p.crt", PeerKeyFile: "/p.key", PeerCAFile: "/peers.crt",
	}
}

func TestServerArgs(t *testing.T) {
	got, err := datastore.ServerArgs(goodServer())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"--name=m0", "--data-dir=/d",
		"--listen-client-urls=https://127.0.0.1:2379", "--advertise-client-urls=https://127.0.0.1:2379",
		"--listen-peer-urls=https://127.0.0.1:2380", "--initial-advertise-peer-urls=https://127.0.0.1:2380",
		"--initial-cluster=m0=https://127.0.0.1:2380", "--initial-cluster-state=new", "--initial-cluster-token=kqueen-m0",
		"--cert-file=/s.crt", "--key-file=/s.key", "--client-cert-auth=true", "--trusted-ca-file=/clients.crt",
		"--peer-cert-file=/p.crt", "--peer-key-file=/p.key", "--peer-client-cert-auth=true", "--peer-trusted-ca-file=/peers.crt",
		"--tls-min-version=TLS1.3",
		"--auto-compaction-mode=periodic", "--auto-compaction-retention=4m", "--watch-progress-notify-interval=1m", "--quota-backend-bytes=8589934592",
		"--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true", "--enable-grpc-gateway=false",
		"--logger=zap", "--log-level=warn", "--log-outputs=stderr",
		"--listen-client-http-urls=https://127.0.0.1:2381",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	// Every flag and gate is one of the real server's. (The etcd of these tests runs with them too.)
	cmd := exec.CommandContext(deadline(t), env.program, "--help")
	cmd.Env = append(os.Environ(), asEtcd+"=1")
	help, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range got {
		name, _, _ := strings.Cut(arg, "=")
		if !bytes.Contains(help, []byte("\n  "+name+" ")) && !bytes.Contains(help, []byte("\n  "+name+"\n")) {
			t.Errorf("etcd has no flag %s", name)
		}
	}
	for _, gate := range []string{"InitialCorruptCheck=", "CompactHashCheck="} {
		if !bytes.Contains(help, []byte(gate)) {
			t.Errorf("etcd has no feature gate %s", gate)
		}
	}
}

func TestServerArgsRefuses(t *testing.T) {
	for field, spoil := range map[string]func(*datastore.ServerConfig){
		"Name":         func(c *datastore.ServerConfig) { c.Name = "" },
		"DataDir":      func(c *datastore.ServerConfig) { c.DataDir = "" },
		"ClientPort":   func(c *datastore.ServerConfig) { c.ClientPort = 0 },
		"PeerPort":     func(c *datastore.ServerConfig) { c.PeerPort = 65536 },
		"HTTPPort":     func(c *datastore.ServerConfig) { c.HTTPPort = -1 },
		"CertFile":     func(c *datastore.ServerConfig) { c.CertFile = "" },
		"KeyFile":      func(c *datastore.ServerConfig) { c.KeyFile = "" },
		"ClientCAFile": func(c *datastore.ServerConfig) { c.ClientCAFile = "" }, // etcd would trust the host's authorities
		"PeerCertFile": func(c *datastore.ServerConfig) { c.PeerCertFile = "" },
		"PeerKeyFile":  func(c *datastore.ServerConfig) { c.PeerKeyFile = "" },
		"PeerCAFile":   func(c *datastore.ServerConfig) { c.PeerCAFile = c.ClientCAFile },
		"QuotaBytes":   func(c *datastore.ServerConfig) { c.QuotaBytes = -1 },
	} {
		c := goodServer()
		spoil(&c)
		if args, err := datastore.ServerArgs(c); err == nil || !strings.Contains(err.Error(), ": "+field+" ") {
			t.Errorf("got %v, %v, want an error that names %s", args, err, field)
		}
	}
}
