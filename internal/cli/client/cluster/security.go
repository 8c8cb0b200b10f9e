package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/platform/text"
)

// describeSecurity states what keeps the cluster's pods in.
func describeSecurity(p *describe.Page, c *v1alpha1.Cluster, machines []*v1alpha1.Machine) {
	p.Heading("Security")
	p.Fields("  ",
		"Pods", podsKept(c.Spec.PodSecurity),
		"Nodes", nodesKept(machines),
		"NetworkPolicies", policiesKept(c),
	)
}

// podsKept says what pods may do, by the cluster's level of Kubernetes' Pod Security Standards.
func podsKept(level string) string {
	switch level {
	case v1alpha1.PodSecurityPrivileged:
		return "privileged: a pod may be root of its node"
	case v1alpha1.PodSecurityBaseline:
		return "baseline: no pod outside kube-system may be what is known to lead out of pods"
	case v1alpha1.PodSecurityRestricted:
		return "restricted: no pod outside kube-system may be other than hardened"
	}
	return "as the cluster was created: baseline, or privileged before there were levels"
}

// nodesKept says how far nodes are kept apart from the host. It is pure.
func nodesKept(machines []*v1alpha1.Machine) string {
	var shared []string
	own, apart := 0, 0
	for _, m := range machines {
		switch m.Status.Isolation {
		case v1alpha1.MachineUserNamespace:
			apart++
		case v1alpha1.MachineOwnRoot:
			shared = append(shared, m.Name)
		default:
			own++
		}
	}
	slices.Sort(shared)
	var said []string
	if apart > 0 {
		said = append(said, text.Count(apart, "node")+" on KQueen's host with users of their own: root there has no rights on the host")
	}
	if len(shared) > 0 {
		said = append(said, fmt.Sprintf("%s on KQueen's host as its root, so that a privileged pod is root of the host: %s", text.Count(len(shared), "node"), strings.Join(shared, ", ")))
	}
	if own > 0 {
		said = append(said, text.Count(own, "node")+" on other machines, or not yet created")
	}
	return cmp.Or(strings.Join(said, "; "), "none")
}

// policiesKept says what becomes of NetworkPolicies.
func policiesKept(c *v1alpha1.Cluster) string {
	at := slices.IndexFunc(c.Status.Addons, func(a v1alpha1.AddonStatus) bool { return a.Name == "network-policies" })
	switch {
	case at >= 0 && c.Status.Addons[at].State == v1alpha1.AddonReady:
		return "enforced"
	case at >= 0:
		return "not everywhere yet: the addon network-policies is " + c.Status.Addons[at].State
	case c.Spec.CNI == v1alpha1.CNINone:
		return "as the network does that you install"
	}
	return "not enforced: the addon network-policies is not there"
}
