//go:build linux

package app

import (
	"context"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/api/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/provision/hosted"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/machine/local"
	"kqueen.io/kqueen/internal/workers/machine/local/guest"
	"kqueen.io/kqueen/internal/workers/machine/manual"
	"kqueen.io/kqueen/internal/workers/machinecontroller"
	"kqueen.io/kqueen/internal/workers/nodepool"
	"kqueen.io/kqueen/internal/workers/prepare"
)

// localMachines finds the machines on this host.
func (a *App) localMachines(ctx context.Context) (*local.Provider, error) {
	ports := supervise.DefaultPorts()
	return local.New(ctx, local.Config{
		Runner:    a.supervisor,
		Releases:  release.NewStore(a.Releases),
		Program:   a.Program,
		Range:     a.MachineNetwork,
		Listen:    a.Listen,
		HostPorts: guest.PortRange{First: ports.First, Last: ports.Last},
		Images:    imagesDir(a.Dir),
		InUse:     local.HostNetworks,
		Pause:     prepare.Pause(a.Images),
	})
}

// takenRanges are the addresses of this host and of what runs on it. No pod and no Service may have them.
func takenRanges(listen netip.Addr, machines netip.Prefix) ([]hosted.Taken, error) {
	networks, err := local.HostNetworks()
	if err != nil {
		return nil, fmt.Errorf("list the host's networks: %w", err)
	}
	advertised := advertiseAddress(listen)
	all := []hosted.Taken{
		{Range: machines, As: "the network of machines on KQueen's host (kqueen up --machine-network)"},
		{Range: netip.PrefixFrom(advertised, advertised.BitLen()), As: "the address at which nodes and pods reach API servers"},
	}
	for _, network := range networks {
		all = append(all, hosted.Taken{Range: network, As: "a network of KQueen's host"})
	}
	return all, nil
}

// resourcesOf writes a size as the API does.
func resourcesOf(s machine.Size) v1alpha1.MachineResources {
	return v1alpha1.MachineResources{CPU: resource.NewMilliQuantity(s.MilliCPU, resource.DecimalSI), Memory: resource.NewQuantity(s.Memory, resource.BinarySI)}
}

// clusters gives access to the clusters that KQueen manages, as their administrator.
type clusters struct{ remotes *kube.Remotes }

// Client implements what packages machinecontroller and prepare ask for.
func (c clusters) Client(ctx context.Context, cluster *v1alpha1.Cluster) (client.Client, error) {
	if cluster.Status.Sleeps() {
		return nil, connection.ErrAsleep
	}
	secret := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.KubeconfigSecret()}
	return c.remotes.Client(ctx, secret, v1alpha1.KubeconfigKey)
}

// addWorkers adds the reconcilers of NodePool and Machine. What it returns tells when machines were looked at.
func (a *App) addWorkers(
	ctx context.Context, mgr ctrl.Manager, d *apiServer, here *local.Provider, access clusters, prepares *prepare.Preparer, pools *operator.Barrier,
) (*operator.FirstLooks, error) {
	if err := nodepool.Setup(mgr, prepares.Prepare, pools); err != nil {
		return nil, err
	}
	if err := d.addAutoscaler(mgr, a.connections.Load(), here, a.Dir); err != nil {
		return nil, err
	}
	return machinecontroller.Setup(ctx, mgr, access, map[string]machine.Provider{
		v1alpha1.ProviderLocal:  here,
		v1alpha1.ProviderManual: manual.New(manual.Config{Reachable: advertiseAddress(a.Listen) != machine.NoAddress()}),
	}, a.notices.machines)
}
