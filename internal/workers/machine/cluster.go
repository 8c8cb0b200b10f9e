package machine

import (
	"fmt"
	"net/netip"

	"kqueen.io/kqueen/api/v1alpha1"
)

// dnsHost is the number of the name service's address in the range of Services; kubeadm's is the same.
const dnsHost = 10

// NoAddress stands in for the address of a host that listens on loopback alone, which upstream refuses as the API
// server's advertised address. It is from the range for documentation and leads nowhere (RFC 5737), but in
// machines on this host, which carry what is sent to it.
func NoAddress() netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, 1}) }

// ClusterOf says what a machine has to know of a cluster whose status.join is set. It is pure.
func ClusterOf(cluster *v1alpha1.Cluster) (Cluster, error) {
	network := cluster.Spec.Network
	pods, err := netip.ParsePrefix(network.PodCIDR)
	if err != nil {
		return Cluster{}, fmt.Errorf("spec.network.podCIDR of cluster %s: %w", cluster.Name, err)
	}
	services, err := netip.ParsePrefix(network.ServiceCIDR)
	if err != nil {
		return Cluster{}, fmt.Errorf("spec.network.serviceCIDR of cluster %s: %w", cluster.Name, err)
	}
	dns := services.Masked().Addr()
	for range dnsHost {
		dns = dns.Next()
	}
	if !services.Contains(dns) {
		return Cluster{}, fmt.Errorf("spec.network.serviceCIDR of cluster %s: %s has no %dth address for the name service", cluster.Name, services, dnsHost)
	}
	organization, _ := v1alpha1.OrganizationOf(cluster.Namespace)
	return Cluster{
		Organization: organization, Name: cluster.Name, Server: cluster.Status.Join.Server, CA: cluster.Status.Join.CA,
		PodCIDR: pods, ServiceCIDR: services, DNS: dns, DNSDomain: network.DNSDomain,
		CNI: cluster.Spec.CNI,
	}, nil
}

// SizeOf is what a machine is to have, bounded where the spec says so. It is pure.
func SizeOf(r *v1alpha1.MachineResources) Size {
	var size Size
	if r != nil && r.CPU != nil {
		size.MilliCPU = r.CPU.MilliValue()
	}
	if r != nil && r.Memory != nil {
		size.Memory = r.Memory.Value()
	}
	return size
}
