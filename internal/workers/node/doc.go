// Package node says what makes a machine a node, wherever the machine is: how containerd and the kubelet are
// configured, with what the kubelet asks for its identity, the cgroup of the pods, and the steps that fill the
// machine with images: those that joining takes before the kubelet starts, and those of addons beside it.
//
// It hides the notations of those programs and the two versions of cgroups. What is particular to a machine, its
// paths, its network and its life, is its provider's business. Machine providers may import it, and the
// command line for the step before the kubelet.
package node

// ContainerdRoot is containerd's directory on a machine that has a file system of its own.
const ContainerdRoot = "/var/lib/containerd"

// Names of a machine's components.
const (
	ComponentContainerd = "containerd"
	ComponentKubelet    = "kubelet"
	ComponentProxy      = "kube-proxy"
	ComponentImporter   = "image-importer"
)

// Ports of kubelet and kube-proxy, which are upstream's.
const (
	PortKubelet       = 10250
	PortKubeletHealth = 10248
	PortProxyHealth   = 10256
	PortProxyMetrics  = 10249
)
