package addresses

import (
	"hash/fnv"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Answering are the addresses for which a node answers, in order. Each address has one node: of those that are ready and take
// load balancers' traffic, and have a ready endpoint where the Service asks for that (externalTrafficPolicy Local), the one with
// the highest hash of both names. So few addresses move when nodes come and go. It is pure.
func Answering(node string, services []*corev1.Service, slicesOf func(*corev1.Service) []*discoveryv1.EndpointSlice, nodes []*corev1.Node) []netip.Addr {
	var mine []netip.Addr
	for _, s := range services {
		a := addressOf(s)
		if !wants(s) || !a.IsValid() {
			continue
		}
		local := map[string]bool{}
		onlyLocal := s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
		if onlyLocal {
			local = nodesOf(slicesOf(s))
		}
		best, highest := "", uint64(0)
		for _, n := range nodes {
			if h := hash(a, n.Name); takesTraffic(n) && (!onlyLocal || local[n.Name]) && (best == "" || h > highest) {
				best, highest = n.Name, h
			}
		}
		if best == node {
			mine = append(mine, a)
		}
	}
	slices.SortFunc(mine, netip.Addr.Compare)
	return mine
}

func hash(a netip.Addr, node string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(a.String() + " " + node))
	return h.Sum64()
}

func takesTraffic(n *corev1.Node) bool {
	if _, excluded := n.Labels[corev1.LabelNodeExcludeBalancers]; excluded || n.DeletionTimestamp != nil {
		return false
	}
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// nodesOf are the nodes with a ready endpoint.
func nodesOf(all []*discoveryv1.EndpointSlice) map[string]bool {
	nodes := map[string]bool{}
	for _, s := range all {
		for _, e := range s.Endpoints {
			if e.NodeName != nil && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
				nodes[*e.NodeName] = true
			}
		}
	}
	return nodes
}
