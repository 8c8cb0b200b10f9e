package machinecontroller

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// synced returns the node as it should be and whether that differs from what it is: our labels and taints as
// wanted, those that the record names and the spec no longer has gone, and what others set, such as
// node.kubernetes.io/not-ready, as it is. It is pure.
func synced(node *corev1.Node, labels map[string]string, taints []corev1.Taint, providerID string, had record) (*corev1.Node, bool) {
	want := node.DeepCopy()
	if want.Labels == nil {
		want.Labels = map[string]string{}
	}
	for _, key := range had.Labels {
		if _, wanted := labels[key]; !wanted {
			delete(want.Labels, key)
		}
	}
	maps.Copy(want.Labels, labels)
	want.Spec.Taints = mergeTaints(node.Spec.Taints, taints, had.Taints)
	if want.Spec.ProviderID == "" {
		want.Spec.ProviderID = providerID
	}
	same := maps.Equal(want.Labels, node.Labels) && want.Spec.ProviderID == node.Spec.ProviderID &&
		slices.EqualFunc(want.Spec.Taints, node.Spec.Taints, sameTaint)
	return want, !same
}

// mergeTaints keeps the order of those that are there, so that being as wanted is no change.
func mergeTaints(have, wanted []corev1.Taint, ours []string) []corev1.Taint {
	missing := map[string]corev1.Taint{}
	for _, t := range wanted {
		t.TimeAdded = nil
		missing[taintID(t)] = t
	}
	var out []corev1.Taint
	for _, t := range have {
		id := taintID(t)
		w, ok := missing[id]
		switch {
		case ok && sameTaint(t, w):
			out = append(out, t)
		case ok:
			out = append(out, w)
		case !slices.Contains(ours, id):
			out = append(out, t)
		}
		delete(missing, id)
	}
	for _, id := range slices.Sorted(maps.Keys(missing)) {
		out = append(out, missing[id])
	}
	return out
}

func sameTaint(a, b corev1.Taint) bool {
	return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect
}

// bounds are what an address or a range that a node claims is checked against: the claim becomes routes and a
// name in certificates.
type bounds struct {
	pods, services netip.Prefix
	server         string // host of the API server
	others         []v1alpha1.Machine
}

// address returns the first addresses of its own that a node claims, of which there may be one of each family.
// Those of another machine, of the API server, of pods and Services, and those that are no machine's, are not
// its own. It is pure.
func (b bounds) address(node *corev1.Node) []netip.Addr {
	var out []netip.Addr
	for _, a := range node.Status.Addresses {
		addr, err := netip.ParseAddr(a.Address)
		addr = addr.Unmap()
		if a.Type != corev1.NodeInternalIP || err != nil || !b.own(addr) {
			continue
		}
		if !slices.ContainsFunc(out, func(o netip.Addr) bool { return o.Is4() == addr.Is4() }) {
			out = append(out, addr)
		}
	}
	return out
}

func (b bounds) own(addr netip.Addr) bool {
	if !addr.IsGlobalUnicast() || addr.Zone() != "" || addr.String() == b.server || b.pods.Contains(addr) || b.services.Contains(addr) {
		return false
	}
	return !slices.ContainsFunc(b.others, func(o v1alpha1.Machine) bool { return addressOf(&o) == addr })
}

// podCIDR returns the range of a node's pods when it lies in the cluster's and is no other machine's;
// otherwise it is not valid. It is pure.
func (b bounds) podCIDR(node *corev1.Node) netip.Prefix {
	cidr, err := netip.ParsePrefix(node.Spec.PodCIDR)
	if err != nil || cidr != cidr.Masked() || !b.pods.Contains(cidr.Addr()) || cidr.Bits() < b.pods.Bits() {
		return netip.Prefix{}
	}
	for i := range b.others {
		if other, err := netip.ParsePrefix(b.others[i].Status.PodCIDR); err == nil && other.Overlaps(cidr) {
			return netip.Prefix{}
		}
	}
	return cidr
}
