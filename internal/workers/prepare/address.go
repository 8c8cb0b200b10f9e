package prepare

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/workers/addons"
	"kqueen.io/kqueen/internal/workers/machine"
)

// IngressAddress is where the addon traefik answers in the network of the cluster's machines on KQueen's host; the zero Addr when it has
// no such address. With an error it is the one in the status, unless that is not in the cluster's network any more: networks are given
// to other clusters, and a status may be from a restored copy.
func (p *Preparer) IngressAddress(ctx context.Context, cluster *v1alpha1.Cluster) (netip.Addr, error) {
	machines, err := machineAddresses(ctx, p.Settings, cluster)
	if err != nil {
		return netip.Addr{}, err
	}
	service, err := p.ingressService(ctx, cluster)
	if err != nil && cluster.Status.Ingress != nil {
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: cluster.Status.Ingress.Address}}
	}
	return addressOf(service, machines), err
}

// OwnsAddress says whether an address is one for Services in the network of the cluster's machines on KQueen's host, by what from has
// of machines.
func OwnsAddress(ctx context.Context, from client.Reader, cluster *v1alpha1.Cluster, address netip.Addr) (bool, error) {
	machines, err := machineAddresses(ctx, from, cluster)
	return owns(machines, address), err
}

// machineAddresses are the addresses of the cluster's machines on KQueen's host.
func machineAddresses(ctx context.Context, from client.Reader, cluster *v1alpha1.Cluster) ([]netip.Addr, error) {
	all := &v1alpha1.MachineList{}
	if err := from.List(ctx, all, client.InNamespace(cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("list the machines of cluster %s: %w", cluster.Name, err)
	}
	return ownMachines(cluster, all.Items), nil
}

// ownMachines are the addresses of those among machines that are the cluster's and on KQueen's host. It is pure.
func ownMachines(cluster *v1alpha1.Cluster, machines []v1alpha1.Machine) []netip.Addr {
	var at []netip.Addr
	for i := range machines {
		m := &machines[i]
		address, err := netip.ParseAddr(m.Status.Address)
		if err == nil && m.Spec.ClusterName == cluster.Name && m.Spec.Provider == v1alpha1.ProviderLocal {
			at = append(at, address)
		}
	}
	return at
}

// owns says whether an address is one for Services in the network of machines. It is pure.
func owns(machines []netip.Addr, address netip.Addr) bool {
	return slices.ContainsFunc(machines, func(at netip.Addr) bool { return machine.ForServices(address, at) })
}

// ingressService is the Service of the addon traefik; an empty one when the cluster has none, or with an error.
func (p *Preparer) ingressService(ctx context.Context, cluster *v1alpha1.Cluster) (*corev1.Service, error) {
	service := &corev1.Service{}
	c, err := p.Clusters.Client(ctx, cluster)
	if err != nil {
		return service, err
	}
	ctx, cancel := context.WithTimeout(ctx, kube.CallDeadline)
	defer cancel()
	err = c.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: addons.NameTraefik}, service)
	if client.IgnoreNotFound(err) != nil {
		return service, fmt.Errorf("look for the address of the Service %s: %w", addons.NameTraefik, err)
	}
	return service, nil
}

// addressOf is the first address of a Service that is one for Services in the network of the cluster's machines on KQueen's host. A
// user of the cluster may write any other into its status: that of another tenant's machine, or of the host. It is pure.
func addressOf(service *corev1.Service, machines []netip.Addr) netip.Addr {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if address, err := netip.ParseAddr(ingress.IP); err == nil && owns(machines, address) {
			return address
		}
	}
	return netip.Addr{}
}
