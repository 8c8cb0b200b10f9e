package policies

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	netutils "k8s.io/utils/net"
)

// pod is one that has addresses of its own.
type pod struct {
	*corev1.Pod

	addresses []netip.Addr
}

// cluster is what selectors are matched against.
type cluster struct {
	pods       map[string][]pod // by namespace
	namespaces []*corev1.Namespace
	matches    int // how many more objects are matched against a selector
}

// newCluster leaves out the pods that have no address of their own: those in the network of their node, and those that have ended, whose
// address may belong to another pod already.
func newCluster(pods []*corev1.Pod, namespaces []*corev1.Namespace, matches int) *cluster {
	owners := map[netip.Addr]*corev1.Pod{}
	for _, p := range pods {
		if p.Spec.HostNetwork || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, ip := range p.Status.PodIPs {
			if a, ok := addressOf(ip.IP); ok && isLater(p, owners[a]) {
				owners[a] = p
			}
		}
	}
	addresses := map[*corev1.Pod][]netip.Addr{}
	for a, p := range owners {
		addresses[p] = append(addresses[p], a)
	}
	c := &cluster{pods: map[string][]pod{}, namespaces: namespaces, matches: matches}
	for _, p := range pods {
		if own := addresses[p]; len(own) > 0 {
			slices.SortFunc(own, netip.Addr.Compare)
			c.pods[p.Namespace] = append(c.pods[p.Namespace], pod{p, own})
		}
	}
	for _, list := range c.pods {
		slices.SortFunc(list, func(a, b pod) int { return strings.Compare(a.Name, b.Name) })
	}
	return c
}

// isLater says whether an address that two pods claim is that of the first: of a pod that is being deleted it may have been given away.
func isLater(p, than *corev1.Pod) bool {
	if than == nil {
		return true
	}
	if (p.DeletionTimestamp == nil) != (than.DeletionTimestamp == nil) {
		return p.DeletionTimestamp == nil
	}
	return cmp.Or(p.CreationTimestamp.Compare(than.CreationTimestamp.Time), strings.Compare(p.Namespace, than.Namespace), strings.Compare(p.Name, than.Name)) > 0
}

// addresses returns those of all peers of a policy in a namespace. It says false if it had to stop at the bound.
func (c *cluster) addresses(namespace string, peers []networkingv1.NetworkPolicyPeer) (*netipx.IPSet, bool) {
	var all netipx.IPSetBuilder
	for _, peer := range peers {
		if peer.IPBlock != nil {
			all.AddSet(blockOf(peer.IPBlock))
			continue
		}
		for _, p := range c.selected(namespace, peer) {
			for _, a := range p.addresses {
				all.Add(a)
			}
		}
		if c.matches < 0 {
			return &netipx.IPSet{}, false
		}
	}
	return built(&all), true
}

// selected returns the pods that a peer selects. What cannot be parsed selects nothing.
func (c *cluster) selected(namespace string, peer networkingv1.NetworkPolicyPeer) []pod {
	in := []string{namespace}
	if peer.NamespaceSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(peer.NamespaceSelector)
		if err != nil {
			return nil
		}
		in = nil
		for _, ns := range c.namespaces {
			if c.match(selector, ns.Labels) {
				in = append(in, ns.Name)
			}
		}
	}
	selector := labels.Everything()
	if peer.PodSelector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(peer.PodSelector); err != nil {
			return nil
		}
	}
	var out []pod
	for _, name := range in {
		for _, p := range c.pods[name] {
			if c.match(selector, p.Labels) {
				out = append(out, p)
			}
		}
	}
	return out
}

// match counts what users make the program do: many selectors times many pods is much work.
func (c *cluster) match(selector labels.Selector, of labels.Set) bool {
	c.matches--
	return c.matches >= 0 && selector.Matches(of)
}

// blockOf returns the addresses of a block. One that cannot be parsed, or whose exceptions cannot, is empty.
func blockOf(block *networkingv1.IPBlock) *netipx.IPSet {
	var b netipx.IPSetBuilder
	network, ok := networkOf(block.CIDR)
	if !ok {
		return &netipx.IPSet{}
	}
	b.AddPrefix(network)
	for _, except := range block.Except {
		network, ok := networkOf(except)
		if !ok {
			return &netipx.IPSet{}
		}
		b.RemovePrefix(network)
	}
	return built(&b)
}

// built returns what was added. The builder's only error is about addresses that are not valid, which nothing here adds.
func built(b *netipx.IPSetBuilder) *netipx.IPSet {
	set, err := b.IPSet()
	if err != nil {
		return &netipx.IPSet{}
	}
	return set
}

// networkOf parses as the API server does, which accepts leading zeros in stored objects.
func networkOf(cidr string) (netip.Prefix, bool) {
	_, network, err := netutils.ParseCIDRSloppy(cidr)
	if err != nil {
		return netip.Prefix{}, false
	}
	prefix, ok := netipx.FromStdIPNet(network)
	return prefix, ok && prefix.IsValid()
}

// addressOf parses as the API server does.
func addressOf(text string) (netip.Addr, bool) { return netipx.FromStdIP(netutils.ParseIPSloppy(text)) }
