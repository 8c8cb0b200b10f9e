//go:build linux

package local

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/egress"
	"kqueen.io/kqueen/internal/machine"
	"kqueen.io/kqueen/internal/machine/local/guest"
	"kqueen.io/kqueen/internal/release"
	"kqueen.io/kqueen/internal/runner"
)

// Names of a machine's components.
const (
	componentMachine    = "machine"
	componentContainerd = "containerd"
	componentKubelet    = "kubelet"
	componentProxy      = "kube-proxy"
)

// Ports of a machine's own address. Those of kubelet and kube-proxy are upstream's.
const (
	portMachineHealth = 10247
	portKubeletHealth = 10248
	portProxyHealth   = 10256
)

// Paths within a machine.
const (
	kubeletKubeconfig = "/var/lib/kubelet/kubeconfig"
	containerdSocket  = "/run/containerd/containerd.sock"
)

// Names of files in a machine's directory.
const (
	fileGuest      = "guest.json"
	fileRoutes     = "routes.json"
	fileContainerd = "containerd.toml"
	fileCNI        = "cni.template"
	fileKubelet    = "kubelet.yaml"
	fileBootstrap  = "bootstrap.kubeconfig"
	fileCA         = "ca.crt"
	fileResolv     = "resolv.conf"
)

// description is everything that a machine depends on.
type description struct {
	machine.Desired
	record    record
	facts     facts
	dir       string
	images    string
	parts     release.NodeParts
	binaries  release.Binaries
	listen    netip.Addr
	hostPorts guest.PortRange
	// pauseImage is empty for the one among parts.
	pauseImage string
}

// describe says what runs for a machine. It is pure: the same description gives the same workload.
func describe(d description) (runner.Workload, error) {
	files, err := d.files()
	if err != nil {
		return runner.Workload{}, err
	}
	return runner.Workload{
		ID: string(d.UID), Files: files,
		Components: []runner.Component{d.machine(), d.containerd(), d.kubelet(), d.proxy()},
	}, nil
}

func (d description) machine() runner.Component {
	return runner.Component{
		Name: componentMachine,
		Path: d.record.Program,
		// It is never restarted for another description: that would end all pods.
		Args:     []string{"machine", "run", "--config", d.path(fileGuest)},
		Isolated: true,
		Probe:    d.probe(portMachineHealth),
		// Its end is that of everything in it; there is nothing to wait for.
		StopGrace: time.Second,
	}
}

func (d description) containerd() runner.Component {
	return runner.Component{
		Name:   componentContainerd,
		Path:   d.parts.Program("containerd"),
		Args:   []string{"--config", d.path(fileContainerd)},
		Within: componentMachine,
		// A restart leaves the pods alone: their shims live on.
		RestartOn: []string{fileContainerd, fileCNI},
	}
}

// kubelet waits for containerd and gives it the images that cannot be pulled and those of the host's administrator, before any pod asks for them.
func (d description) kubelet() runner.Component {
	args := []string{"machine", "start", "--socket", containerdSocket, "--importer", d.parts.Program("ctr")}
	for _, image := range imagesFor(d.Cluster.CNI, d.parts.Images()) {
		args = append(args, "--image", image.Archive)
	}
	args = append(args, "--images", d.images, "--", d.binaries.Path("kubelet"),
		"--config="+d.path(fileKubelet),
		"--kubeconfig="+kubeletKubeconfig,
		"--bootstrap-kubeconfig="+d.path(fileBootstrap),
		"--cert-dir=/var/lib/kubelet/pki",
		"--hostname-override="+d.Name,
		"--node-ip="+d.address().String(),
		// The others come from KQueen once the node is there.
		"--node-labels="+v1alpha1.LabelProvider+"="+v1alpha1.ProviderLocal,
	)
	return runner.Component{
		Name:      componentKubelet,
		Path:      d.record.Program,
		Args:      args,
		After:     []string{componentContainerd},
		Within:    componentMachine,
		RestartOn: []string{fileKubelet, fileCA},
		Probe:     d.probe(portKubeletHealth),
	}
}

// imagesFor are those that a machine is given. Flannel's is as large as all others together, and most clusters have
// no use for it.
func imagesFor(cni string, all []release.Image) []release.Image {
	return slices.DeleteFunc(all, func(i release.Image) bool {
		return strings.Contains(i.Name, "/flannel:") && cni != v1alpha1.CNIFlannel
	})
}

// proxy is kube-proxy with the node's own identity, which is there once the kubelet has joined.
func (d description) proxy() runner.Component {
	return runner.Component{
		Name: componentProxy,
		Path: d.record.Program,
		Args: []string{
			"machine", "start", "--path", kubeletKubeconfig, "--", d.binaries.Path("kube-proxy"),
			"--kubeconfig=" + kubeletKubeconfig,
			"--hostname-override=" + d.Name,
			"--proxy-mode=" + d.facts.proxyMode,
			"--cluster-cidr=" + d.Cluster.PodCIDR.String(),
			"--healthz-bind-address=" + d.at(portProxyHealth),
			"--metrics-bind-address=127.0.0.1:10249",
			// The host's limits are not a machine's to change.
			"--conntrack-max-per-core=0",
			"--conntrack-tcp-timeout-established=0",
			"--conntrack-tcp-timeout-close-wait=0",
		},
		After:  []string{componentKubelet},
		Within: componentMachine,
	}
}

func (d description) probe(port int) *runner.Probe {
	return &runner.Probe{URL: "http://" + d.at(port) + "/healthz"}
}

func (d description) path(file string) string { return filepath.Join(d.dir, file) }
func (d description) address() netip.Addr     { return d.record.Address.Addr() }
func (d description) at(port int) string {
	return net.JoinHostPort(d.address().String(), strconv.Itoa(port))
}

// guest is the configuration of process 1.
func (d description) guest() (guest.Config, error) {
	c := guest.Config{
		Hostname: d.Name,
		Network: guest.Network{
			Bridge: bridgeOf(d.Ref.Cluster), Gateway: gateway(d.record.Address),
			Link: linkOf(d.UID), Address: d.record.Address,
		},
		Mounts:     d.mounts(),
		Keep:       []string{d.dir, d.record.Program, filepath.Dir(d.binaries.Dir), d.parts.Dir, d.images},
		Cgroup:     cgroupOf(d.UID),
		Health:     netip.AddrPortFrom(d.address(), portMachineHealth),
		Exit:       d.dir,
		Ranges:     d.ranges(),
		RoutesFile: d.path(fileRoutes),
	}
	if !d.listen.IsLoopback() {
		c.Network.HostPorts = []guest.PortRange{d.hostPorts}
		return c, nil
	}
	server, err := netip.ParseAddrPort(d.Cluster.Server)
	if err != nil {
		return c, fmt.Errorf("address of the API server: %w", err)
	}
	c.Forward = []guest.Forward{{Listen: server, Connect: netip.AddrPortFrom(d.listen, server.Port())}}
	return c, nil
}

// ranges are those of pods and Services.
func (d description) ranges() []netip.Prefix {
	return []netip.Prefix{d.Cluster.PodCIDR, d.Cluster.ServiceCIDR}
}

// mounts make of the host's files those of a machine: what belongs to one node is the machine's own.
func (d description) mounts() []guest.Mount {
	own := func(name string) string { return filepath.Join(d.dir, "root", name) }
	return []guest.Mount{
		{Kind: "overlay", Source: "/etc", Upper: own("etc"), Target: "/etc"},
		{Kind: "bind", Source: own("opt"), Target: "/opt"},
		{Kind: "bind", Source: own("lib"), Target: "/var/lib"},
		{Kind: "bind", Source: own("log"), Target: "/var/log"},
		{Kind: "tmpfs", Target: "/run"},
		// What a network that runs in the cluster installs comes beside what we bring.
		{Kind: "overlay", Source: d.parts.CNI(), Upper: own("cni"), Target: "/opt/cni/bin"},
	}
}

// routes lead to the pods of the other machines, where the provider makes the network.
func (d description) routes() []guest.Route {
	list := []guest.Route{}
	if d.Cluster.CNI != v1alpha1.CNIRoutes {
		return list
	}
	for _, p := range d.Peers {
		list = append(list, guest.Route{To: p.PodCIDR, Via: p.Address})
	}
	slices.SortFunc(list, func(a, b guest.Route) int { return a.To.Addr().Compare(b.To.Addr()) })
	return list
}

func (d description) files() (map[string]runner.File, error) {
	inside, err := d.guest()
	if err != nil {
		return nil, err
	}
	kubelet, err := d.kubeletConfig()
	if err != nil {
		return nil, fmt.Errorf("write the kubelet's configuration: %w", err)
	}
	files := map[string]runner.File{
		fileContainerd: {Data: []byte(d.containerdConfig())},
		fileCNI:        {Data: []byte(cniTemplate)},
		fileKubelet:    {Data: kubelet},
		fileCA:         {Data: d.Cluster.CA},
		fileResolv:     {Data: []byte(d.facts.resolvConf)},
	}
	if d.Token != "" {
		if files[fileBootstrap], err = d.bootstrap(); err != nil {
			return nil, err
		}
	} else {
		// What is no longer good must not lie about. Files that are not described stay.
		files[fileBootstrap] = runner.File{}
	}
	for name, value := range map[string]any{fileGuest: inside, fileRoutes: d.routes(), recordFile: d.record} {
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		files[name] = runner.File{Data: data}
	}
	exit, err := egress.Mark{Cluster: string(d.Ref.Cluster), Machine: d.address()}.Encode()
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", egress.MarkFile, err)
	}
	files[egress.MarkFile] = runner.File{Data: exit}
	return files, nil
}
