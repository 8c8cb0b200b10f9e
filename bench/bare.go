package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/hosting/runner/process"
	"kqueen.io/kqueen/internal/platform/freeport"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// bareStart measures the same kube-apiserver with the same arguments on the same etcd, started by
// hand: keys, keyspace and files are made before the clock starts.
func bareStart(ctx context.Context, inst *installation, n int) (times, error) {
	store, err := openStore(ctx, inst)
	if err != nil {
		return times{}, err
	}
	keyspace, err := datastore.NewKeyspace(fmt.Sprintf("bbbbbbbb-0000-4000-8000-%012d", n))
	if err != nil {
		return times{}, errors.Join(err, store.Close())
	}
	if err := store.Ensure(ctx, keyspace, datastore.ReadWrite); err != nil {
		return times{}, errors.Join(err, store.Close())
	}
	took, err := bareRun(ctx, inst, keyspace)
	return took, errors.Join(err, store.Remove(context.WithoutCancel(ctx), keyspace), store.Close())
}

func bareRun(ctx context.Context, inst *installation, keyspace datastore.Keyspace) (took times, err error) {
	b, err := prepareBare(ctx, inst, keyspace)
	if err != nil {
		return times{}, err
	}
	defer func() { err = errors.Join(err, b.remove()) }()
	begin := time.Now()
	if err := b.cmd.Start(); err != nil {
		return times{}, err
	}
	if err = awaitOK(ctx, b.caller, b.url+namespacesPath); err == nil {
		took.Answer = time.Since(begin).Seconds()
		err = awaitOK(ctx, b.caller, b.url+"/readyz")
		took.Ready = time.Since(begin).Seconds()
	}
	return took, errors.Join(err, b.kill())
}

// bareServer is an API server that is ready to be started by hand.
type bareServer struct {
	cmd    *exec.Cmd
	caller *http.Client
	url    string
	grace  time.Duration // that it has to end by itself
}

// prepareBare makes keys and files in a folder of its own.
func prepareBare(ctx context.Context, inst *installation, keyspace datastore.Keyspace) (*bareServer, error) {
	dir, err := os.MkdirTemp(inst.dir, "bare-")
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*bareServer, error) { return nil, errors.Join(err, os.RemoveAll(dir)) }
	workload, keys, port, err := bareWorkload(inst, keyspace, dir)
	if err != nil {
		return fail(err)
	}
	for name, file := range workload.Files {
		if err := os.WriteFile(filepath.Join(dir, name), file.Data, 0o600); err != nil {
			return fail(err)
		}
	}
	caller, err := adminCaller(keys)
	if err != nil {
		return fail(err)
	}
	server := workload.Components[0]
	cmd := exec.CommandContext(ctx, server.Path, server.Args...)
	cmd.Dir = dir
	return &bareServer{cmd, caller, fmt.Sprintf("https://127.0.0.1:%d", port), server.StopGrace}, nil
}

func (b *bareServer) kill() error {
	err := b.cmd.Process.Kill()
	_ = b.cmd.Wait() // it was killed, which is all that it would say
	return err
}

func (b *bareServer) remove() error { return os.RemoveAll(b.cmd.Dir) }

// adminCaller makes requests as the administrator that the keys know.
func adminCaller(keys pki.Bundle) (*http.Client, error) {
	admin, err := tls.X509KeyPair(keys["admin.crt"], keys["admin.key"])
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(keys["ca.crt"])
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, Certificates: []tls.Certificate{admin}}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}, nil
}

func bareWorkload(inst *installation, keyspace datastore.Keyspace, dir string) (supervise.Workload, pki.Bundle, int, error) {
	fail := func(err error) (supervise.Workload, pki.Bundle, int, error) { return supervise.Workload{}, nil, 0, err }
	port, err := freeport.Take()
	if err != nil {
		return fail(err)
	}
	network := v1alpha1.Network{PodCIDR: "10.244.0.0/16", ServiceCIDR: "10.96.0.0/16", DNSDomain: "cluster.local"}
	set, err := pki.ControlPlane(pki.ControlPlaneParams{
		UID: keyspace.UID(), DNSDomain: network.DNSDomain, ServiceCIDR: network.ServiceCIDR, SNIHost: "bare.bench",
		StoreAuthority: "store-ca", StoreUser: keyspace.User(),
	})
	if err != nil {
		return fail(err)
	}
	keys, _, err := pki.Issue(nil, set, inst.store.Signer("ca", "store-ca"), time.Now())
	if err != nil {
		return fail(err)
	}
	workload, err := controlplane.Describe(controlplane.Description{
		ID: keyspace.UID(), Network: network, ServerName: "bare.bench", AdvertiseAddress: netip.MustParseAddr("192.0.2.1"),
		Keys: keys, EncryptionKeys: []controlplane.EncryptionKey{{Secret: make([]byte, 32)}},
		Store:   controlplane.StoreAccess{Endpoints: []string{inst.endpoint}, CA: inst.store["ca.crt"], Keyspace: keyspace},
		Version: inst.binaries.Version.String(),
	})
	if err != nil {
		return fail(err)
	}
	place := supervise.Place{Dir: dir, Addr: netip.MustParseAddr("127.0.0.1"), Port: map[string]int{controlplane.PortAPI: port}}
	processes, err := process.Describe(workload, place, func(p runner.Program) (process.Program, error) {
		return process.Program{Path: inst.binaries.Path(p.Name)}, nil
	})
	return processes, keys, port, err
}

func openStore(ctx context.Context, inst *installation) (*datastore.Store, error) {
	root, err := datastore.RootTLS(inst.store["ca.crt"], inst.store["root.crt"], inst.store["root.key"])
	if err != nil {
		return nil, err
	}
	return datastore.Open(ctx, datastore.Config{Endpoints: []string{inst.endpoint}, TLS: root})
}
