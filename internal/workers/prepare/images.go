package prepare

import (
	"fmt"
	"strings"

	"kqueen.io/kqueen/api/v1alpha1"
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
)

// chooseImages says what the pods run that KQueen puts into a cluster with that version of Kubernetes and that CNI.
// from is a value of [Config.Images] or empty: then they are bundled where there are such. It is pure.
func chooseImages(from string, bundled []release.Image, version, cni string) (addons.Images, error) {
	images := addons.Images{KubeProxy: upstreamProxy + ":" + version} // it is in machines that the user joins alone
	if from == Upstream || from == "" && len(bundled) == 0 {
		images.CoreDNS, images.Flannel, images.FlannelPlugin = upstreamCoreDNS, upstreamFlannel, upstreamFlannelPlugin
		return images, nil
	}
	for _, image := range bundled {
		switch {
		case strings.Contains(image.Name, "/coredns:"):
			images.CoreDNS = image.Name
		case strings.Contains(image.Name, "/flannel:"):
			images.Flannel = image.Name
		}
	}
	missing := ""
	if images.CoreDNS == "" {
		missing = "CoreDNS"
	}
	if images.Flannel == "" && cni == v1alpha1.CNIFlannel {
		missing = "flannel"
	}
	if missing != "" {
		return images, fmt.Errorf("the image of %s is not on this machine; build it with: kqueen release build, or have it pulled with: kqueen up --images %s", missing, Upstream)
	}
	return images, nil
}

// Pause is the image that holds the namespaces of pods in machines on this host; empty for the one that comes with
// the machine.
func Pause(from string) string {
	if from == Upstream {
		return upstreamPause
	}
	return ""
}
