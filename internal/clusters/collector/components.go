package collector

import (
	"strings"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// systemNamespace is where the components of Kubernetes itself run as pods. Elsewhere, an image of the same name is an application's.
const systemNamespace = "kube-system"

// The components of a control plane.
const (
	apiServer = "kube-apiserver"
	kubeProxy = "kube-proxy"
)

// unseen are those that a provider runs when no pod of theirs is seen.
var unseen = []string{"kube-controller-manager", "kube-scheduler", "etcd"}

// systemImages are components when they run in the system's namespace, by the last part of the image's repository.
var systemImages = map[string]string{
	"kube-apiserver": apiServer, "kube-controller-manager": "kube-controller-manager", "kube-scheduler": "kube-scheduler", "etcd": "etcd",
	"kube-proxy": kubeProxy, "coredns": "coredns", "kube-dns": "kube-dns",
}

// addonImages are components wherever they run, by the end of the image's repository.
var addonImages = []struct{ end, component string }{
	{"/flannel", "flannel"},
	{"/mirrored-flannelcni-flannel", "flannel"},
	{"/mirrored-flannel-io-flannel", "flannel"},
	{"calico/node", "calico"},
	{"/mirrored-calico-node", "calico"},
	{"calico/kube-controllers", "calico-kube-controllers"},
	{"cilium/cilium", "cilium"},
	{"cilium/operator-generic", "cilium-operator"},
	{"cilium/operator", "cilium-operator"},
	{"/antrea-ubuntu", "antrea"},
	{"/antrea-agent-ubuntu", "antrea"},
	{"/kube-router", "kube-router"},
	{"/weave-kube", "weave"},
	{"/amazon-k8s-cni", "amazon-vpc-cni"},
	{"/azure-cns", "azure-cns"},
	{"/multus-cni", "multus"},
	{"kube-ovn/kube-ovn", "kube-ovn"},
	{"kubeovn/kube-ovn", "kube-ovn"},
	{"/metrics-server", "metrics-server"},
	{"ingress-nginx/controller", "ingress-nginx"},
	{"/nginx-ingress-controller", "ingress-nginx"},
	{"nginx/nginx-ingress", "nginx-ingress"},
	{"/traefik", "traefik"},
	{"/haproxy-ingress", "haproxy-ingress"},
	{"haproxytech/kubernetes-ingress", "haproxy-ingress"},
	{"/contour", "contour"},
	{"kong/kubernetes-ingress-controller", "kong"},
	{"/aws-load-balancer-controller", "aws-load-balancer-controller"},
	{"/local-path-provisioner", "local-path-provisioner"},
}

// componentOf names the component that an image is, in a namespace; "" when it is none. An image whose name speaks of CSI is a driver or one
// of the containers beside drivers, and named as the image is.
func componentOf(repository, namespace string) string {
	last := lastPart(repository)
	if namespace == systemNamespace {
		if found, ok := systemImages[last]; ok {
			return found
		}
	}
	for _, known := range addonImages {
		if strings.HasSuffix(repository, known.end) {
			return known.component
		}
	}
	if last == "csi" || strings.HasPrefix(last, "csi-") || strings.HasSuffix(last, "-csi") || strings.Contains(last, "-csi-") {
		return last
	}
	return ""
}

// podComponents returns the components that run in a pod, one for each of its containers that is one. Their names are the node's; a pod
// that is on no node yet, or has ended, runs none.
func podComponents(p *pod, containers []inventory.Item) []inventory.Item {
	if p.Spec.NodeName == "" || p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" {
		return nil
	}
	var out []inventory.Item
	seen := map[string]bool{}
	for _, c := range containers {
		if c.Container.Type != inventory.TypeApp && c.Container.Type != inventory.TypeSidecar {
			continue
		}
		part := componentOf(c.Container.Image.Repository, c.Key.Namespace)
		if part == "" || seen[part] {
			continue
		}
		seen[part] = true
		key := podKey(p, inventory.KindComponent)
		key.Name, key.Part = c.Container.Node, part
		out = append(out, inventory.Item{Key: key, Component: &inventory.Component{
			Version: versionOf(c.Container.Image.Tag), Image: c.Container.Image.Reference,
		}})
	}
	return out
}

// clusterComponents are those that run on no node of the cluster: its API server, as it says of itself, and the rest of the control
// plane. Those that KQueen hosts are known; without them, and without pods of theirs, the provider runs them. seen are the components
// that run as pods; podsKnown is false while pods cannot be read, when nothing is said of the rest.
func clusterComponents(version string, hosted []inventory.Item, seen func(part string) bool, podsKnown bool) []inventory.Item {
	out := append([]inventory.Item(nil), hosted...)
	own := map[string]bool{}
	for _, item := range hosted {
		own[item.Key.Part] = true
	}
	add := func(part string, c inventory.Component) {
		if !own[part] {
			out = append(out, inventory.Item{Key: inventory.Key{Kind: inventory.KindComponent, Part: part}, Component: &c})
		}
	}
	if version != "" {
		add(apiServer, inventory.Component{Version: listing.Clean(version, maxWord)})
	}
	if len(hosted) > 0 || !podsKnown {
		return out
	}
	for _, part := range unseen {
		if !seen(part) {
			add(part, inventory.Component{Managed: true})
		}
	}
	return out
}

// driverItems returns a CSI driver that is registered in the cluster. Which version it has, its pods say.
func driverItems(d *object) []inventory.Item {
	return []inventory.Item{{
		Key:       inventory.Key{Kind: inventory.KindComponent, Part: listing.Clean(d.Meta.Name, maxName), UID: listing.Clean(d.Meta.UID, maxUID)},
		Component: &inventory.Component{},
	}}
}
