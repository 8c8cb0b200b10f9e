package addons

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// ConditionAddress of a Service in a cluster says that its address is of the addon load-balancer, whose program sets it (package
// addresses of the node's agent).
const ConditionAddress = "kqueen.io/LoadBalancerAddress"

// GivesAddresses says whether one of a cluster's addons gives Services addresses.
func GivesAddresses(chosen []Chosen) bool {
	return slices.ContainsFunc(chosen, func(c Chosen) bool { return c.Name == nameLoadBalancer })
}

// LabelCapacity is on the CSIStorageCapacity objects of the addon local-volumes, whose program writes them (package volumes of the
// node's agent).
const LabelCapacity = "local-volumes.kqueen.io/node-uid"

// HasVolumes says whether one of a cluster's addons has volumes on the disks of nodes.
func HasVolumes(chosen []Chosen) bool {
	return slices.ContainsFunc(chosen, func(c Chosen) bool { return c.Name == nameLocalVolumes })
}

// DefaultCertificate is the Secret in kube-system with the certificate that the addon traefik serves for names of which no Ingress and no
// Gateway brings one.
const DefaultCertificate = "kqueen-ingress-default-certificate"

// ServesIngresses says whether one of a cluster's addons serves Ingresses.
func ServesIngresses(chosen []Chosen) bool {
	return slices.ContainsFunc(chosen, func(c Chosen) bool { return c.Name == NameTraefik })
}

// checkRanges is about the ranges of the load balancer, of which the schema says only which letters they have.
func checkRanges(field string, values map[string]any) error {
	texts, _ := values["ranges"].([]any)
	for i, t := range texts {
		text, _ := t.(string)
		if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr().Is4() {
			continue
		}
		from, to, two := strings.Cut(text, "-")
		if !two {
			to = from
		}
		first, errFirst := netip.ParseAddr(from)
		last, errLast := netip.ParseAddr(to)
		if errFirst != nil || errLast != nil || !first.Is4() || !last.Is4() || last.Less(first) {
			return invalid.New(fmt.Sprintf("%s.ranges[%d]", field, i), "%q is no range of IPv4 addresses; must be such as 192.0.2.10-192.0.2.20 or 192.0.2.0/28", text)
		}
	}
	return nil
}
