package addons

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

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
	// Kubernetes are the releases that this version of the addon is for, as a constraint of SemVer; empty for all. In a cluster of
	// another release it is not applied.
	Kubernetes string
	// Uses are addons without which a part of it has no effect. They are applied before it.
	Uses []Use

	// check says what is wrong with values that the schema takes; nil where it says all.
	check func(field string, values map[string]any) error
	// image is nil for an addon that runs nothing, whose version is that of its objects.
	image   func(Images) string
	version string
	files   func(Params) []string
}

// Use is an addon that another one uses, and what for, as a phrase.
type Use struct{ Name, For string }

// IsFor says whether the addon is for a release of Kubernetes, such as "v1.36.3". It is pure.
func (a Addon) IsFor(release string) bool {
	if a.Kubernetes == "" {
		return true
	}
	want, err := semver.NewConstraint(a.Kubernetes)
	if err != nil {
		return false // TestCatalogue
	}
	version, err := semver.NewVersion(release)
	return err == nil && want.Check(version)
}

// Lacks says what of the addon has no effect among others, as a sentence without a full stop; empty when they are all that it
// uses. It is pure.
func (a Addon) Lacks(among []Chosen) string {
	var lacks []string
	for _, use := range a.Uses {
		if !slices.ContainsFunc(among, func(c Chosen) bool { return c.Name == use.Name }) {
			lacks = append(lacks, fmt.Sprintf("without the addon %s there are no %s", use.Name, use.For))
		}
	}
	return strings.Join(lacks, "; ")
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
			Schema:     json.RawMessage(valuesMetricsServer),
			Kubernetes: ">=1.34", // the compatibility matrix of 0.9
			image:      func(i Images) string { return i.MetricsServer },
			files:      oneFile("metrics-server.yaml"),
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
			Kubernetes: ">=1.32",                             // upstream promises the five latest minors of the time of a release
			files:      func(Params) []string { return nil }, // see GatewayAPI
		},
		{
			Name: NameTraefik, Summary: "HTTP and TLS from outside: Ingresses, and the GatewayClass traefik", Default: true,
			Schema: json.RawMessage(valuesTraefik),
			Uses:   []Use{{nameLoadBalancer, "addresses of Ingresses and Gateways"}, {NameGatewayAPI, "Gateways"}},
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
