//go:build linux

package standalone

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// Ports of the etcd workload.
const (
	portClient = "client"
	portPeer   = "peer"
	portHTTP   = "http"
)

// portHealth is that of the egress workload.
const portHealth = "health"

// adminNetwork is the addressing of the admin plane. No pod and no Service lives there but "kubernetes".
var adminNetwork = v1alpha1.Network{PodCIDR: "10.254.0.0/16", ServiceCIDR: "10.255.0.0/24", DNSDomain: "cluster.local"}

// adminControllers are what an API server needs beside it to behave as users expect when no pod runs:
// namespaces go, owned objects go with their owners, aggregated roles are put together.
var adminControllers = []string{
	"namespace-controller", "garbage-collector-controller", "clusterrole-aggregation-controller",
	"serviceaccount-controller", "root-ca-certificate-publisher-controller",
}

// storeLimits are etcd's: all control planes wait for it, and it must not be ended for the memory that they have it take.
var storeLimits = confine.Limits{Weight: 1000, Tasks: 4096}

// store runs etcd, turns its authentication on and gives the admin plane its keyspace.
func (u *bringUp) store(ctx context.Context) error {
	place, err := u.Supervisor.Reserve(ctx, WorkloadStore, []string{portClient, portPeer, portHTTP})
	if err != nil {
		return fmt.Errorf("reserve the ports of etcd: %w", err)
	}
	workload, err := u.describeStore(place)
	if err != nil {
		return err
	}
	if err := u.Supervisor.Apply(ctx, workload); err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	if err := u.wait(ctx, WorkloadStore); err != nil {
		return err
	}
	u.credentials = engine.Store{Endpoint: endpoint(place.Port[portClient]), Keys: u.storeKeys}
	store, err := u.openStore(ctx)
	if err != nil {
		return fmt.Errorf("connect to etcd: %w", err)
	}
	err = store.Secure(ctx)
	if err == nil {
		err = store.Ensure(ctx, datastore.AdminKeyspace())
	}
	return errors.Join(err, store.Close())
}

func (u *bringUp) describeStore(place supervise.Place) (supervise.Workload, error) {
	file, dataDir := func(name string) string { return filepath.Join(place.Dir, name) }, filepath.Join(u.Dir, "etcd")
	args, err := datastore.ServerArgs(datastore.ServerConfig{
		Name: "default", DataDir: dataDir,
		ClientPort: place.Port[portClient], PeerPort: place.Port[portPeer], HTTPPort: place.Port[portHTTP],
		CertFile: file("server.crt"), KeyFile: file("server.key"), ClientCAFile: file("ca.crt"),
		PeerCertFile: file("peer.crt"), PeerKeyFile: file("peer.key"), PeerCAFile: file("peer-ca.crt"),
	})
	if err != nil {
		return supervise.Workload{}, err
	}
	files := map[string]supervise.File{}
	for _, name := range []string{"ca.crt", "server.crt", "server.key", "peer-ca.crt", "peer.crt", "peer.key"} {
		files[name] = supervise.File{Data: u.storeKeys[name]}
	}
	return supervise.Workload{ID: WorkloadStore, Files: files, Confined: true, Limits: storeLimits, Score: confine.ScoreKept, Components: []supervise.Component{{
		Name:   "etcd",
		Path:   u.Program,
		Args:   append([]string{"etcd"}, args...),
		Ports:  []string{portClient, portPeer, portHTTP},
		Writes: []string{dataDir},
		Probe: &supervise.Probe{
			URL:    endpoint(place.Port[portHTTP]) + "/readyz",
			CAFile: "ca.crt", CertFile: "server.crt", KeyFile: "server.key",
		},
	}}}, nil
}

func (u *bringUp) openStore(ctx context.Context) (*datastore.Store, error) {
	root, err := datastore.RootTLS(u.storeKeys["ca.crt"], u.storeKeys["root.crt"], u.storeKeys["root.key"])
	if err != nil {
		return nil, err
	}
	return datastore.Open(ctx, datastore.Config{Endpoints: []string{u.credentials.Endpoint}, TLS: root})
}

// admin runs the API server and writes the administrator's kubeconfig.
func (u *bringUp) admin(ctx context.Context) error {
	place, err := u.Runner.Reserve(ctx, WorkloadAdmin, controlplane.Ports())
	if err != nil {
		return fmt.Errorf("reserve the ports of the admin plane: %w", err)
	}
	workload, err := controlplane.Describe(controlplane.Description{
		ID:               WorkloadAdmin,
		Network:          adminNetwork,
		ServerName:       u.serverName(),
		AdvertiseAddress: u.AdvertiseAddress,
		Keys:             u.adminKeys,
		EncryptionKey:    u.encryptionKey,
		Store: controlplane.StoreAccess{
			Endpoints: []string{u.credentials.Endpoint}, CA: u.storeKeys["ca.crt"], Keyspace: datastore.AdminKeyspace(),
		},
		Version:          u.binaries.Version.String(),
		Controllers:      adminControllers,
		Own:              true,
		WithoutScheduler: true,
		AuditLog:         u.AuditLog,
		Trusted:          []string{ownUser},
		Webhooks: &controlplane.ClientCertificate{
			Certificate: u.webhookKeys[webhookLeaf+".crt"], Key: u.webhookKeys[webhookLeaf+".key"],
		},
	})
	if err != nil {
		return err
	}
	if err := u.Runner.Apply(ctx, workload); err != nil {
		return fmt.Errorf("start the admin plane: %w", err)
	}
	if err := u.wait(ctx, WorkloadAdmin); err != nil {
		return err
	}
	for path, user := range map[string]string{Kubeconfig(u.Dir): "admin", ownKubeconfig(u.Dir): ownLeaf} {
		kubeconfig, err := pki.Kubeconfig(pki.KubeconfigParams{
			Cluster: "kqueen", Context: "kqueen", User: "kqueen-" + user,
			Server: controlplane.LocalServer(place), Namespace: v1alpha1.NamespacePrefix + "default",
			CA: u.adminKeys["ca.crt"], ClientCert: u.adminKeys[user+".crt"], ClientKey: u.adminKeys[user+".key"],
		})
		if err != nil {
			return err
		}
		if err := atomicfile.Write(path, kubeconfig, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// egress runs what carries the calls of tenants' API servers into their clusters. Without KQueen it goes on, as
// the API servers do.
func (u *bringUp) egress(ctx context.Context) error {
	place, err := u.Supervisor.Reserve(ctx, WorkloadEgress, []string{portHealth})
	if err != nil {
		return fmt.Errorf("reserve the directory of egress: %w", err)
	}
	health := net.JoinHostPort(place.Addr.String(), strconv.Itoa(place.Port[portHealth]))
	err = u.Supervisor.Apply(ctx, supervise.Workload{ID: WorkloadEgress, Score: confine.ScoreKept, Components: []supervise.Component{{
		Name: "egress",
		Path: u.Program,
		// In one word: an egress of a KQueen that ran API servers as itself, and has sockets that no others can open, had two.
		Args:  []string{"egress", "--workloads=" + filepath.Dir(place.Dir), "--health=" + health},
		Ports: []string{portHealth},
		Probe: &supervise.Probe{URL: "http://" + health + "/healthz"},
		// Every client has to connect again, whenever it ends.
		StopGrace: time.Second,
	}}})
	if err != nil {
		return fmt.Errorf("start egress: %w", err)
	}
	return u.wait(ctx, WorkloadEgress)
}

func endpoint(port int) string {
	return "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
