package addons

import (
	"encoding/json"
	"slices"
	"strings"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Addon is an application that KQueen runs in clusters.
type Addon struct {
	// Name as in spec.addons of a Cluster.
	Name string
	// Summary is a phrase for users: what the cluster has by it.
	Summary string
	// Default says whether a cluster has it of which no setting says otherwise.
	Default bool
	// CNI is the value of spec.cni with which clusters have it, and with that alone: it cannot be switched. Empty for those
	// that can.
	CNI string
	// OffWithCNI is the value of spec.cni with which clusters do not have it by default.
	OffWithCNI string
	// Essential says that nodes are of no use without it: a cluster takes none while its image is missing.
	Essential bool
	// Schema is the JSON Schema of its values.
	Schema json.RawMessage

	// check says what is wrong with values that the schema takes; nil where it says all.
	check func(field string, values map[string]any) error
	// image is nil for an addon that runs nothing, whose version is that of its objects.
	image   func(Images) string
	version string
	files   func(Params) []string
}

// Version is that of the application: the tag of its image.
func (a Addon) Version(from Images) string {
	if a.image == nil {
		return a.version
	}
	image := a.image(from)
	return image[strings.LastIndexByte(image, ':')+1:]
}

// HasImage says whether there is an image for it, or it needs none.
func (a Addon) HasImage(from Images) bool { return a.image == nil || a.image(from) != "" }

// Names of addons. NameGatewayAPI has objects beside those of [Objects], [GatewayAPI], and NameTraefik a Secret.
const (
	nameCoreDNS         = "coredns"
	nameFlannel         = "flannel"
	NameGatewayAPI      = "gateway-api"
	nameKubeProxy       = "kube-proxy"
	nameLoadBalancer    = "load-balancer"
	nameLocalVolumes    = "local-volumes"
	nameMetricsServer   = "metrics-server"
	nameNetworkPolicies = "network-policies"
	NameTraefik         = "traefik"
)

// Catalogue are all addons, in the order in which they are applied.
func Catalogue() []Addon {
	return []Addon{
		{
			Name: nameFlannel, Summary: "the network of pods between machines that reach each other", Default: true, CNI: v1alpha1.CNIFlannel, Essential: true,
			Schema: json.RawMessage(noValues),
			image:  func(i Images) string { return i.Flannel },
			files: func(p Params) []string {
				if p.Images.FlannelPlugin != "" {
					return []string{"flannel.yaml", "flannel-upstream.yaml"}
				}
				return []string{"flannel.yaml", "flannel-bundled.yaml"}
			},
		},
		{
			Name: nameKubeProxy, Summary: "addresses of Services, on machines that do not run kube-proxy by themselves", Default: true,
			Schema: json.RawMessage(noValues),
			image:  func(i Images) string { return i.KubeProxy },
			files:  oneFile("kube-proxy.yaml"),
		},
		{
			Name: nameCoreDNS, Summary: "names of Services and pods", Default: true, Essential: true,
			Schema: json.RawMessage(valuesCoreDNS),
			image:  func(i Images) string { return i.CoreDNS },
			files:  oneFile("coredns.yaml"),
		},
		{
			Name: nameMetricsServer, Summary: "what pods and nodes use, for kubectl top and HorizontalPodAutoscalers", Default: true,
			Schema: json.RawMessage(valuesMetricsServer),
			image:  func(i Images) string { return i.MetricsServer },
			files:  oneFile("metrics-server.yaml"),
		},
		{
			Name: nameNetworkPolicies, Summary: "what enforces NetworkPolicies", Default: true, OffWithCNI: v1alpha1.CNINone,
			Schema: json.RawMessage(noValues),
			image:  func(i Images) string { return i.NodeAgent },
			files:  oneFile("network-policies.yaml"),
		},
		{
			Name: nameLocalVolumes, Summary: "the StorageClass local: volumes on the disks of nodes", Default: true,
			Schema: json.RawMessage(valuesLocalVolumes),
			image:  func(i Images) string { return i.NodeAgent },
			files:  oneFile("local-volumes.yaml"),
		},
		{
			Name: nameLoadBalancer, Summary: "addresses for Services of type LoadBalancer, in the network of the nodes", Default: true,
			Schema: json.RawMessage(valuesLoadBalancer),
			check:  checkRanges,
			image:  func(i Images) string { return i.NodeAgent },
			files:  oneFile("load-balancer.yaml"),
		},
		{
			Name: NameGatewayAPI, Summary: "the kinds of the Gateway API, standard channel, which stay when it is switched off", Default: true,
			Schema: json.RawMessage(noValues), version: GatewayAPIVersion,
			files: func(Params) []string { return nil }, // see GatewayAPI
		},
		{
			Name: NameTraefik, Summary: "HTTP and TLS from outside: Ingresses, and the GatewayClass traefik", Default: true,
			Schema: json.RawMessage(valuesTraefik),
			image:  func(i Images) string { return i.Traefik },
			files: func(p Params) []string {
				if p.HasGatewayAPI() {
					return []string{"traefik.yaml", "traefik-gateway.yaml"}
				}
				return []string{"traefik.yaml"}
			},
		},
	}
}

func oneFile(name string) func(Params) []string {
	return func(Params) []string { return []string{name} }
}

// named returns the addon of a name.
func named(name string) (Addon, bool) {
	all := Catalogue()
	at := slices.IndexFunc(all, func(a Addon) bool { return a.Name == name })
	if at < 0 {
		return Addon{}, false
	}
	return all[at], true
}
