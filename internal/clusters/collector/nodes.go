package collector

import (
	"slices"
	"strings"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// nodeItems returns a node and the programs that it says it runs. proxy is the version of kube-proxy that runs on it, as its pod has
// it; "" when that cannot be seen: what a node itself says of kube-proxy is the kubelet's version, or nothing.
func nodeItems(n *node, proxy string) []inventory.Item {
	name, uid, info := listing.Clean(n.Meta.Name, maxName), listing.Clean(n.Meta.UID, maxUID), &n.Status.Info
	out := &inventory.Node{
		KubeletVersion: listing.Clean(info.Kubelet, maxWord), KubeProxyVersion: proxy, Runtime: listing.Clean(info.Runtime, maxWord), Kernel: listing.Clean(info.Kernel, maxWord),
		OS: listing.Clean(info.OS, maxWord), Architecture: listing.Clean(info.Architecture, maxWord), Unschedulable: n.Spec.Unschedulable, Labels: cleanMap(n.Meta.Labels),
		Capacity: amounts(n.Status.Capacity), Allocatable: amounts(n.Status.Allocatable), Ready: "Unknown",
	}
	for _, c := range n.Status.Conditions[:min(len(n.Status.Conditions), maxList)] {
		switch {
		case c.Type == "Ready":
			out.Ready = listing.Clean(c.Status, maxWord)
			if c.Status != "True" {
				out.Message = listing.Clean(c.Message, maxMessage)
			}
		case c.Status == "True":
			out.Pressure = append(out.Pressure, listing.Clean(c.Type, maxWord))
		}
	}
	slices.Sort(out.Pressure)
	component := func(part, version string) inventory.Item {
		return inventory.Item{Key: inventory.Key{Kind: inventory.KindComponent, Name: name, Part: part, UID: uid}, Component: &inventory.Component{Version: version}}
	}
	items := []inventory.Item{{Key: inventory.Key{Kind: inventory.KindNode, Name: name, UID: uid}, Node: out}}
	if out.KubeletVersion != "" {
		items = append(items, component("kubelet", out.KubeletVersion))
	}
	if runtime, version, found := strings.Cut(out.Runtime, "://"); found && runtime != "" {
		if version != "" && !strings.HasPrefix(version, "v") {
			version = "v" + version
		}
		items = append(items, component(runtime, version))
	}
	return items
}

func amounts(r resources) inventory.Resources {
	cpu := listing.Quantity(r.CPU)
	return inventory.Resources{CPU: cpu.MilliValue(), Memory: bytesOf(r.Memory), Pods: bytesOf(r.Pods)}
}

func bytesOf(s string) int64 {
	q := listing.Quantity(s)
	return q.Value()
}
