//go:build linux

package local

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/node"
)

// cniTemplate becomes the machine's network configuration when the kubelet tells containerd the node's range. To be
// filled in is whether each pod gets a rule of its own for the way out.
const cniTemplate = `{
  "cniVersion": "1.0.0",
  "name": "kqueen",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "cni0",
      "isGateway": true,
      "isDefaultGateway": true,
      "hairpinMode": true,
      "ipMasq": %t,
      "ipMasqBackend": "nftables",
      "ipam": {
        "type": "host-local",
        "ranges": [{{range $i, $r := .PodCIDRRanges}}{{if $i}}, {{end}}[{"subnet": "{{$r}}"}]{{end}}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

func (d description) containerdConfig() string {
	c := node.Containerd{
		Root: node.ContainerdRoot, State: "/run/containerd", Socket: containerdSocket, Parts: d.insideParts(),
		// What a network that runs in the cluster installs comes beside what we bring. Below 0 only the host's root may go.
		KeepOOM: !d.facts.mayLowerOOM || d.record.IDs != nil, NoKeyrings: d.record.IDs != nil, CNIBin: []string{"/opt/cni/bin", d.insideParts().CNI()}, Pause: d.pauseImage,
	}
	if d.Cluster.CNI == v1alpha1.CNIRoutes {
		c.Template = insidePath(fileCNI)
	}
	return c.Config()
}

func (d description) kubeletConfig() ([]byte, error) {
	taints := d.Taints
	if taints == nil {
		taints = []corev1.Taint{}
	}
	limits := map[string]any{"imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99}
	if reserved := d.facts.reserved(d.Size); reserved != nil {
		limits["systemReserved"] = reserved
	}
	// Upstream's folder for these plugins cannot be written in a machine.
	limits["volumePluginDir"] = node.KubeletDir + "/volume-plugins"
	if d.record.IDs != nil {
		limits["featureGates"] = map[string]any{"KubeletInUserNamespace": true}
	}
	return node.Kubelet{
		CAFile: insidePath(node.FileCA), Socket: containerdSocket, CgroupRoot: "/",
		DNS: d.Cluster.DNS, Domain: d.Cluster.DNSDomain, ResolvConf: insidePath(node.FileResolv),
		Health:     netip.AddrPortFrom(d.address(), node.PortKubeletHealth),
		ProviderID: machine.ProviderID(v1alpha1.ProviderLocal, d.UID),
		Taints:     taints,
		// All machines share the host's disk: shares of it, upstream's default, would evict from all at once
		// while much is left, and the images that came with the machine cannot be pulled again.
		Eviction: map[string]string{
			"memory.available": "100Mi", "nodefs.available": "512Mi", "imagefs.available": "512Mi", "nodefs.inodesFree": "1%",
		},
		Limits: limits,
	}.Config()
}

// bootstrap is with what the kubelet asks for its identity.
func (d description) bootstrap() (supervise.File, error) {
	data, err := node.Bootstrap(d.Cluster.Server, d.Cluster.CA, d.Token)
	return supervise.File{Data: data}, err
}
