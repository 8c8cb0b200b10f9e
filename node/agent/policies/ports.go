package policies

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// protocolNumbers are those of IANA.
var protocolNumbers = map[corev1.Protocol]uint8{corev1.ProtocolTCP: 6, corev1.ProtocolUDP: 17, corev1.ProtocolSCTP: 132}

// protocolOf returns the number of a protocol, of which TCP is the default. A protocol that is not known has none.
func protocolOf(p *corev1.Protocol) (uint8, bool) {
	if p == nil {
		return protocolNumbers[corev1.ProtocolTCP], true
	}
	number, ok := protocolNumbers[*p]
	return number, ok
}

// hasNames says whether one of the ports is that of a container, by its name.
func hasNames(ports []networkingv1.NetworkPolicyPort) bool {
	return slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port != nil && p.Port.Type == intstr.String })
}

// numbered returns the ports that have numbers, sorted and without overlaps.
func numbered(ports []networkingv1.NetworkPolicyPort) []Ports {
	var out []Ports
	for _, p := range ports {
		protocol, ok := protocolOf(p.Protocol)
		switch {
		case !ok:
		case p.Port == nil:
			out = append(out, Ports{Protocol: protocol, First: 0, Last: 65535})
		case p.Port.Type == intstr.Int && isPort(p.Port.IntVal):
			last := p.Port.IntVal
			if p.EndPort != nil && isPort(*p.EndPort) {
				last = max(last, *p.EndPort)
			}
			out = append(out, Ports{Protocol: protocol, First: uint16(p.Port.IntVal), Last: uint16(last)})
		}
	}
	return merge(out)
}

// named returns the ports of a pod's containers that the policy names.
func named(ports []networkingv1.NetworkPolicyPort, pod *corev1.Pod) []Ports {
	var out []Ports
	for _, p := range ports {
		protocol, ok := protocolOf(p.Protocol)
		if !ok || p.Port == nil || p.Port.Type != intstr.String {
			continue
		}
		for _, c := range containerPorts(pod) {
			if number, known := protocolOf(&c.Protocol); known && number == protocol && c.Name == p.Port.StrVal && isPort(c.ContainerPort) {
				out = append(out, Ports{Protocol: protocol, First: uint16(c.ContainerPort), Last: uint16(c.ContainerPort)})
			}
		}
	}
	return merge(out)
}

// containerPorts are those of the containers that run as long as the pod does: init containers only where they are sidecars.
func containerPorts(pod *corev1.Pod) []corev1.ContainerPort {
	var out []corev1.ContainerPort
	for _, c := range pod.Spec.Containers {
		out = append(out, c.Ports...)
	}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			out = append(out, c.Ports...)
		}
	}
	return out
}

func isPort(number int32) bool { return number > 0 && number <= 65535 }

// merge sorts ranges and joins those that overlap or touch: the kernel refuses a set with overlaps.
func merge(ports []Ports) []Ports {
	slices.SortFunc(ports, func(a, b Ports) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	var out []Ports
	for _, p := range ports {
		if n := len(out); n > 0 && out[n-1].Protocol == p.Protocol && int(p.First) <= int(out[n-1].Last)+1 {
			out[n-1].Last = max(out[n-1].Last, p.Last)
			continue
		}
		out = append(out, p)
	}
	return out
}
