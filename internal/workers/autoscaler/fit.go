package autoscaler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// passing says whether a taint is one that Kubernetes sets and takes away by itself.
func passing(key string) bool {
	return strings.HasPrefix(key, "node.kubernetes.io/") || strings.HasPrefix(key, "node.cloudprovider.kubernetes.io/")
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// why says what keeps a pod from a node; empty when nothing does.
func (s *simulation) why(l *load, on *slot) string {
	if s.compared++; s.compared > mostCompared {
		return "the cluster's pods compare themselves with more pods than KQueen looks at"
	}
	if lacks := lacking(l.requests, on.free); lacks != "" {
		return lacks
	}
	if t, found := untolerated(l.Pod, on.node); found {
		return "it does not tolerate the taint " + t.ToString()
	}
	if matches, err := l.nodes.Match(on.node); err != nil || !matches {
		return "its node selector or node affinity asks for another node"
	}
	if port, taken := takenPort(l, on); taken {
		return fmt.Sprintf("the port %d of the node is taken", port)
	}
	if why := s.whyVolumes(l, on.node); why != "" {
		return why
	}
	return s.whyTopology(l, on)
}

// lacking says which resource is too little; empty when none is.
func lacking(requests, free amounts) string {
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if wanted := requests[name]; wanted > 0 && wanted > free[name] {
			return fmt.Sprintf("it needs %s of %s, and %s is left", quantity(name, wanted), name, quantity(name, max(free[name], 0)))
		}
	}
	return ""
}

func untolerated(p *corev1.Pod, node *corev1.Node) (corev1.Taint, bool) {
	return schedulinghelper.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, p.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, false)
}

// runsOn says whether a DaemonSet runs its pod on a node.
func runsOn(p *corev1.Pod, node *corev1.Node) bool {
	matches, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(node)
	if err != nil || !matches {
		return false
	}
	t, found := untolerated(p, node)
	return !found || passing(t.Key)
}

func takenPort(l *load, on *slot) (int32, bool) {
	for _, port := range hostPorts(l.Pod) {
		for _, other := range on.pods {
			if slices.Contains(hostPorts(other.Pod), port) {
				return port, true
			}
		}
	}
	return 0, false
}

// hostPorts are the ports of its node that a pod has. Addresses and protocols are not told apart: two that share a port by them are rare.
func hostPorts(p *corev1.Pod) []int32 {
	var ports []int32
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			switch {
			case port.HostPort > 0:
				ports = append(ports, port.HostPort)
			case p.Spec.HostNetwork && port.ContainerPort > 0:
				ports = append(ports, port.ContainerPort)
			}
		}
	}
	return ports
}

// whyVolumes says which volume keeps a pod from a node; empty when none does.
func (s *simulation) whyVolumes(l *load, node *corev1.Node) string {
	for _, name := range claimsOf(l.Pod) {
		claim, known := s.seen.Claims[l.Namespace+"/"+name]
		if !known {
			return "there is no claim " + name
		}
		if claim.Volume == "" {
			if waits, known := s.seen.Classes[claim.Class]; !known || !waits {
				return "its claim " + name + " has no volume yet"
			}
			continue
		}
		nodes, known := s.seen.Volumes[claim.Volume]
		if !known {
			return "there is no volume of its claim " + name
		}
		if nodes == nil {
			continue
		}
		if on, err := nodeaffinity.NewNodeSelector(nodes); err != nil || !on.Match(node) {
			return "the volume of its claim " + name + " is not there"
		}
	}
	return ""
}

// claimsOf are the names of the claims of a pod.
func claimsOf(p *corev1.Pod) []string {
	var names []string
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, p.Name+"-"+v.Name)
		}
	}
	return names
}
