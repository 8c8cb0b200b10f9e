//go:build linux

package local

import (
	"fmt"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/machine"
	"kqueen.io/kqueen/internal/machine/local/guest"
	"kqueen.io/kqueen/internal/runner"
)

// cniTemplate becomes the machine's network configuration when the kubelet tells containerd the node's range.
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
      "ipMasq": true,
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

// containerdConfig is in containerd 2's own notation.
func (d description) containerdConfig() string {
	template := ""
	if d.Cluster.CNI == v1alpha1.CNIRoutes {
		template = fmt.Sprintf("  conf_template = %q\n", d.path(fileCNI))
	}
	return fmt.Sprintf(`version = 3
root = %q
state = "/run/containerd"

[grpc]
  address = %q

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = %q

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = %t

[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["/opt/cni/bin"]
  conf_dir = "/etc/cni/net.d"
%s
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  runtime_path = %q

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  BinaryName = %q
  SystemdCgroup = false
`, guest.ContainerdRoot, containerdSocket, d.pause(), !d.facts.mayLowerOOM, template,
		d.parts.Program("containerd-shim-runc-v2"), d.parts.Program("runc"))
}

// pause is the image of every pod's first container.
func (d description) pause() string {
	if d.pauseImage != "" {
		return d.pauseImage
	}
	for _, image := range d.parts.Images() {
		if strings.Contains(image.Name, "/pause:") {
			return image.Name
		}
	}
	return ""
}

// kubeletConfig writes what is particular here; upstream's defaults hold for the rest.
func (d description) kubeletConfig() ([]byte, error) {
	taints := d.Taints
	if taints == nil {
		taints = []corev1.Taint{}
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": d.path(fileCA)},
		},
		"authorization":            map[string]any{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix://" + containerdSocket,
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               cgroupOf(d.UID),
		"failCgroupV1":             false, // upstream refuses version 1 since 1.35
		"clusterDNS":               []string{d.Cluster.DNS.String()},
		"clusterDomain":            d.Cluster.DNSDomain,
		"resolvConf":               d.path(fileResolv),
		"providerID":               machine.ProviderID(v1alpha1.ProviderLocal, d.UID),
		"registerWithTaints":       taints,
		"rotateCertificates":       true,
		"serverTLSBootstrap":       true,
		"healthzBindAddress":       d.address().String(),
		"healthzPort":              portKubeletHealth,
		// All machines share the host's disk: shares of it, upstream's default, would evict from all at once
		// while much is left, and the images that came with the machine cannot be pulled again.
		"evictionHard": map[string]string{
			"memory.available": "100Mi", "nodefs.available": "512Mi", "imagefs.available": "512Mi", "nodefs.inodesFree": "1%",
		},
		"imageGCHighThresholdPercent": 100,
		"imageGCLowThresholdPercent":  99,
		// A new node is of use as soon as its network is: upstream looks every 10 s.
		"nodeStatusUpdateFrequency": "5s",
	})
}

// bootstrap is with what the kubelet asks for its identity.
func (d description) bootstrap() (runner.File, error) {
	const name = "bootstrap"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + d.Cluster.Server, CertificateAuthorityData: d.Cluster.CA}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: d.Token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return runner.File{}, fmt.Errorf("write %s: %w", filepath.Base(fileBootstrap), err)
	}
	return runner.File{Data: data}, nil
}
