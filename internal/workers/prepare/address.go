package prepare

import (
	"context"
	"fmt"
	"net/netip"

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
	machines := &v1alpha1.MachineList{}
	if err := p.Settings.List(ctx, machines, client.InNamespace(cluster.Namespace)); err != nil {
		return netip.Addr{}, fmt.Errorf("list the machines of cluster %s: %w", cluster.Name, err)
	}
	service, err := p.ingressService(ctx, cluster)
	if err != nil && cluster.Status.Ingress != nil {
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: cluster.Status.Ingress.Address}}
	}
	return addressOf(service, cluster, machines.Items), err
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
func addressOf(service *corev1.Service, cluster *v1alpha1.Cluster, machines []v1alpha1.Machine) netip.Addr {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		address, err := netip.ParseAddr(ingress.IP)
		if err != nil {
			continue
		}
		for i := range machines {
			m := &machines[i]
			at, err := netip.ParseAddr(m.Status.Address)
			own := err == nil && m.Spec.ClusterName == cluster.Name && m.Spec.Provider == v1alpha1.ProviderLocal
			if own && machine.ForServices(address, at) {
				return address
			}
		}
	}
	return netip.Addr{}
}
