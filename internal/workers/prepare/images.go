package prepare

import (
	"fmt"
	"strings"

	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/workers/addons"
)

// Where images come from: values of [Config.Images].
const (
	// Bundled are those that were built with the programs of machines here, and come with the machines.
	Bundled = "bundled"
	// Upstream are those of the projects themselves, pulled from their registries.
	Upstream = "upstream"
)

// Sources are the values of [Config.Images].
func Sources() []string { return []string{Bundled, Upstream} }

// Upstream's images. Those of Kubernetes are what "kubeadm config images list" names for the newest version that is
// built here; flannel's are what Documentation/kube-flannel.yml of the version in node/flannel names.
const (
	upstreamPause         = "registry.k8s.io/pause:3.10.2"
	upstreamCoreDNS       = "registry.k8s.io/coredns/coredns:v1.14.2"
	upstreamProxy         = "registry.k8s.io/kube-proxy" // its tag is the version of Kubernetes
	upstreamFlannel       = "ghcr.io/flannel-io/flannel:v0.28.10"
	upstreamFlannelPlugin = "ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel3"
	upstreamMetricsServer = "registry.k8s.io/metrics-server/metrics-server:v0.9.0"
)

// chooseImages says what the pods of addons run in a cluster with that version of Kubernetes. from is a value of [Config.Images]
// or empty: then they are bundled where there are such. It is pure.
func chooseImages(from string, bundled []release.Image, version string) addons.Images {
	images := addons.Images{KubeProxy: upstreamProxy + ":" + version} // it is in machines that the user joins alone
	for _, image := range bundled {
		// These are in no registry, and machines have them wherever the others come from.
		switch {
		case strings.Contains(image.Name, "/node-agent:"):
			images.NodeAgent = image.Name
		case strings.Contains(image.Name, "/traefik:"): // upstream's does not know the default certificate
			images.Traefik = image.Name
		}
	}
	if from == Upstream || from == "" && len(bundled) == 0 {
		images.CoreDNS, images.Flannel, images.FlannelPlugin = upstreamCoreDNS, upstreamFlannel, upstreamFlannelPlugin
		images.MetricsServer = upstreamMetricsServer
		return images
	}
	for _, image := range bundled {
		switch {
		case strings.Contains(image.Name, "/coredns:"):
			images.CoreDNS = image.Name
		case strings.Contains(image.Name, "/flannel:"):
			images.Flannel = image.Name
		case strings.Contains(image.Name, "/metrics-server:"):
			images.MetricsServer = image.Name
		}
	}
	return images
}

// errNoImage says that the image of an addon is missing, and what helps.
func errNoImage(addon string) error {
	return fmt.Errorf("the image of %s is not on this machine; build it with: kqueen release build (those of projects other than KQueen can be pulled: kqueen up --images %s)", addon, Upstream)
}

// Pause is the image that holds the namespaces of pods in machines on this host; empty for the one that comes with
// the machine.
func Pause(from string) string {
	if from == Upstream {
		return upstreamPause
	}
	return ""
}
