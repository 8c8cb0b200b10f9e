package prepare

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

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
			if got := addressOf(s, wanted("u1"), machines).String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
