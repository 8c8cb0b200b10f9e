package cluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

func TestNodesKept(t *testing.T) {
	machine := func(name string, isolation v1alpha1.MachineIsolation) *v1alpha1.Machine {
		m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Status.Isolation = isolation
		return m
	}
	for want, machines := range map[string][]*v1alpha1.Machine{
		"none": nil,
		"1 node on KQueen's host with users of their own: root there has no rights on the host":                                              {machine("a", v1alpha1.MachineUserNamespace)},
		"2 nodes on KQueen's host as its root, so that a privileged pod is root of the host: a, b":                                           {machine("b", v1alpha1.MachineOwnRoot), machine("a", v1alpha1.MachineOwnRoot)},
		"1 node on KQueen's host as its root, so that a privileged pod is root of the host: a; 1 node on other machines, or not yet created": {machine("b", ""), machine("a", v1alpha1.MachineOwnRoot)},
	} {
		if got := nodesKept(machines); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPoliciesKept(t *testing.T) {
	cluster := func(cni, state string) *v1alpha1.Cluster {
		c := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{CNI: cni}}
		if state != "" {
			c.Status.Addons = []v1alpha1.AddonStatus{{Name: "coredns"}, {Name: "network-policies", State: state}}
		}
		return c
	}
	for want, c := range map[string]*v1alpha1.Cluster{
		"enforced": cluster(v1alpha1.CNIRoutes, v1alpha1.AddonReady),
		"not everywhere yet: the addon network-policies is Progressing": cluster(v1alpha1.CNIRoutes, v1alpha1.AddonProgressing),
		"as the network does that you install":                          cluster(v1alpha1.CNINone, ""),
		"not enforced: the addon network-policies is not there":         cluster(v1alpha1.CNIFlannel, ""),
	} {
		if got := policiesKept(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
