package machine_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/workers/machine"
)

func TestClusterOf(t *testing.T) {
	cluster := func(pods, services string) *v1alpha1.Cluster {
		c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org-acme", Name: "demo"}, Spec: v1alpha1.ClusterSpec{CNI: v1alpha1.CNIRoutes, Network: v1alpha1.Network{PodCIDR: pods, ServiceCIDR: services, DNSDomain: "cluster.local"}}}
		c.Status.Join = &v1alpha1.JoinEndpoint{Server: "192.0.2.1:6443", CA: []byte("ca")}
		return c
	}
	for services, dns := range map[string]string{"10.96.0.0/16": "10.96.0.10", "10.0.0.16/28": "10.0.0.26", "fd00::/112": "fd00::a"} {
		got, err := machine.ClusterOf(cluster("10.244.0.0/16", services))
		if err != nil || got.DNS.String() != dns || got.CNI != v1alpha1.CNIRoutes || got.Server != "192.0.2.1:6443" || got.Organization != "acme" {
			t.Errorf("of %s follows %+v, %v; want the name service at %s", services, got, err, dns)
		}
	}
	for _, bad := range []string{"", "10.0.0.0/29", "x"} {
		if _, err := machine.ClusterOf(cluster("10.244.0.0/16", bad)); err == nil || !strings.Contains(err.Error(), "serviceCIDR") {
			t.Errorf("the range %q of Services is taken: %v", bad, err)
		}
	}
	if _, err := machine.ClusterOf(cluster("x", "10.96.0.0/16")); err == nil || !strings.Contains(err.Error(), "podCIDR") {
		t.Errorf("a bad range of pods is taken: %v", err)
	}
}
