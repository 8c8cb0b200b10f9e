package node

import (
	"fmt"
	"maps"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/platform/ciphers"
)

// Kubelet is what a machine's kubelet is configured by.
type Kubelet struct {
	// CAFile signs those who may call it.
	CAFile string
	// Socket is containerd's.
	Socket string
	// CgroupRoot is the cgroup of the pods, below each hierarchy. It has to be there.
	CgroupRoot string
	// DNS is the address of the cluster's name service, and Domain the suffix of its names.
	DNS    netip.Addr
	Domain string
	// ResolvConf is the file with the name servers of pods that do not ask the cluster's.
	ResolvConf string
	// Health is where "GET /healthz" answers.
	Health netip.AddrPort
	// ProviderID names the machine for good; empty where the machine does not know its name.
	ProviderID string
	// Taints with which the node registers; nil for upstream's own.
	Taints []corev1.Taint
	// Eviction are the thresholds below which pods are evicted.
	Eviction map[string]string
	// Limits are further settings, by their names in upstream's configuration.
	Limits map[string]any
}

// podPIDs is how many processes and threads a pod may have.
const podPIDs = 4096

// Config writes what is particular here; upstream's defaults hold for the rest.
func (k Kubelet) Config() ([]byte, error) {
	all := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": k.CAFile},
		},
		"authorization":            map[string]any{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix://" + k.Socket,
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               k.CgroupRoot,
		"failCgroupV1":             false, // upstream refuses version 1 since 1.35
		"clusterDNS":               []string{k.DNS.String()},
		"clusterDomain":            k.Domain,
		"resolvConf":               k.ResolvConf,
		"rotateCertificates":       true,
		"serverTLSBootstrap":       true,
		"tlsMinVersion":            ciphers.MinVersion,
		"tlsCipherSuites":          ciphers.Names(),
		"healthzBindAddress":       k.Health.Addr().String(),
		"healthzPort":              k.Health.Port(),
		"evictionHard":             k.Eviction,
		// A pod that says no profile gets that of the runtime, and none starts processes until its node has no more.
		"seccompDefault": true,
		"podPidsLimit":   podPIDs,
		// A new node is of use as soon as its network is: upstream looks every 10 s.
		"nodeStatusUpdateFrequency": "5s",
		// A node that has not changed is written as seldom as by upstream, which says so only where the line above is absent. Its Lease says that
		// it lives.
		"nodeStatusReportFrequency": "5m",
	}
	if k.ProviderID != "" {
		all["providerID"] = k.ProviderID
	}
	if k.Taints != nil {
		all["registerWithTaints"] = k.Taints
	}
	maps.Copy(all, k.Limits)
	return yaml.Marshal(all)
}

// Bootstrap is a kubeconfig with which a kubelet asks for its identity. server is host:port, ca PEM.
func Bootstrap(server string, ca []byte, token string) ([]byte, error) {
	const name = "bootstrap"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + server, CertificateAuthorityData: ca}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig to join with: %w", err)
	}
	return data, nil
}
