package prepare

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// machinesOf is an admin plane with machines.
type machinesOf struct {
	client.Reader

	all []v1alpha1.Machine
}

func (m machinesOf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.MachineList).Items = m.all
	return nil
}

// TestIngressAddressOfASilentCluster: the last address stays while the cluster does not answer, and goes when the network is another one's.
func TestIngressAddressOfASilentCluster(t *testing.T) {
	m := v1alpha1.Machine{Spec: v1alpha1.MachineSpec{ClusterName: "demo", Provider: v1alpha1.ProviderLocal}}
	m.Status.Address = "10.223.7.2"
	silent := errors.New("no answer")
	for last, want := range map[string]string{"10.223.7.224": "10.223.7.224", "10.223.8.224": "invalid IP", "": "invalid IP"} {
		cluster := wanted("u1")
		cluster.Status.Ingress = &v1alpha1.ClusterIngress{Address: last}
		p := New(Config{Clusters: &route{broken: silent}, Settings: machinesOf{all: []v1alpha1.Machine{m}}})
		got, err := p.IngressAddress(t.Context(), cluster)
		if got.String() != want || !errors.Is(err, silent) {
			t.Errorf("last %q: got %s and %v, want %s", last, got, err, want)
		}
		p = New(Config{Clusters: &route{broken: silent}, Settings: machinesOf{}})
		if got, _ := p.IngressAddress(t.Context(), cluster); got.IsValid() {
			t.Errorf("last %q: got %s of a cluster without machines", last, got)
		}
	}
}

// TestAddressOf: no address counts but one for Services in the cluster's own network on this host.
func TestAddressOf(t *testing.T) {
	machineOf := func(cluster, provider, address string) v1alpha1.Machine {
		m := v1alpha1.Machine{Spec: v1alpha1.MachineSpec{ClusterName: cluster, Provider: provider}}
		m.Status.Address = address
		return m
	}
	machines := []v1alpha1.Machine{
		machineOf("demo", v1alpha1.ProviderLocal, ""), machineOf("demo", v1alpha1.ProviderLocal, "10.223.7.2"),
		machineOf("other", v1alpha1.ProviderLocal, "10.223.8.2"), machineOf("demo", v1alpha1.ProviderManual, "192.168.1.2"),
	}
	for name, c := range map[string]struct {
		says []string
		want string
	}{
		"First":     {[]string{"10.223.7.224"}, "10.223.7.224"},
		"Last":      {[]string{"10.223.7.254"}, "10.223.7.254"},
		"Second":    {[]string{"nonsense", "", "203.0.113.1", "10.223.7.225"}, "10.223.7.225"},
		"None":      {nil, "invalid IP"},
		"Broadcast": {[]string{"10.223.7.255"}, "invalid IP"},
		"Machine":   {[]string{"10.223.7.2", "10.223.7.223"}, "invalid IP"},
		"Host":      {[]string{"10.223.7.1", "127.0.0.1", "::1"}, "invalid IP"},
		"Tenant":    {[]string{"10.223.8.224"}, "invalid IP"},
		"Elsewhere": {[]string{"192.168.1.224"}, "invalid IP"},
		"Mapped":    {[]string{"::ffff:10.223.7.224"}, "invalid IP"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &corev1.Service{}
			for _, ip := range c.says {
				s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: ip})
			}
			if got := addressOf(s, ownMachines(wanted("u1"), machines)).String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
