//go:build linux

package standalone

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/supervise"
)

const (
	// egressBuild is raised for an egress that an upgrade has to replace. What it carries ends by itself then, within egressLeaves.
	egressBuild  = "egress 5"
	egressLeaves = time.Hour
)

// egressLimits: the API servers of all control planes wait for it.
var egressLimits = confine.Limits{Weight: 1000}

// adminNetwork is the addressing of the admin plane. No pod and no Service lives there but "kubernetes".
var adminNetwork = v1alpha1.Network{PodCIDR: "10.254.0.0/16", ServiceCIDR: "10.255.0.0/24", DNSDomain: "cluster.local"}

// adminControllers are what an API server needs beside it to behave as users expect when no pod runs:
// namespaces go, owned objects go with their owners, aggregated roles are put together.
var adminControllers = []string{
	"namespace-controller", "garbage-collector-controller", "clusterrole-aggregation-controller",
	"serviceaccount-controller", "root-ca-certificate-publisher-controller",
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
		EncryptionKeys:   []controlplane.EncryptionKey{{Secret: u.encryptionKey}},
		Store: controlplane.StoreAccess{
			Endpoints: []string{u.adminStore.endpoint}, CA: u.adminStore.keys["ca.crt"], Keyspace: datastore.AdminKeyspace(),
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
	// The key first: for the moment in which they do not fit together, clients keep to what they have.
	for _, suffix := range []string{keySuffix, certificateSuffix} {
		if err := atomicfile.Keep(ownFile(u.Dir, suffix), u.adminKeys[ownLeaf+suffix], 0o600); err != nil {
			return err
		}
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
		if err := atomicfile.Keep(path, kubeconfig, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// egress runs what carries the calls of tenants' API servers into their clusters. Without KQueen it goes on, as
// the API servers do.
func (u *bringUp) egress(ctx context.Context) error {
	port := supervise.PortOf(portHealth, egressBuild)
	place, err := u.Supervisor.Reserve(ctx, WorkloadEgress, []string{port})
	if err != nil {
		return fmt.Errorf("reserve the directory of egress: %w", err)
	}
	health := net.JoinHostPort(place.Addr.String(), strconv.Itoa(place.Port[port]))
	err = u.Supervisor.Apply(ctx, supervise.Workload{ID: WorkloadEgress, Limits: egressLimits, Score: confine.ScoreKept, Components: []supervise.Component{{
		Name:  "egress",
		Path:  u.Program,
		Build: egressBuild,
		// In one word: an egress of a KQueen that ran API servers as itself, and has sockets that no others can open, had two.
		Args:  []string{"egress", "--workloads=" + filepath.Dir(place.Dir), "--health=" + health},
		Ports: []string{port},
		Probe: &supervise.Probe{URL: "http://" + health + "/healthz"},
		// Every client has to connect again, when it is stopped.
		StopGrace: time.Second, HandsOver: egressLeaves, LatencySensitive: true,
	}}})
	if err != nil {
		return fmt.Errorf("start egress: %w", err)
	}
	return u.wait(ctx, WorkloadEgress)
}

func endpoint(port int) string {
	return "https://" + loopback(port)
}
