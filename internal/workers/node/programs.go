package node

import (
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"

	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// Names of files in a machine's directory.
const (
	FileContainerd = "containerd.toml"
	FileKubelet    = "kubelet.yaml"
	FileBootstrap  = "bootstrap.kubeconfig"
	FileCA         = "ca.crt"
	FileResolv     = "resolv.conf"
)

// Paths of a kubelet's own, which are upstream's.
const (
	KubeletDir        = "/var/lib/kubelet"
	KubeletKubeconfig = KubeletDir + "/kubeconfig"
	KubeletCerts      = KubeletDir + "/pki"
)

// Programs are what runs on a node: containerd, kubelet and kube-proxy.
type Programs struct {
	// Program is the path of kqueen, which waits for what the others need and then becomes them.
	Program  string
	Parts    release.NodeParts
	Binaries release.Binaries
	// Move says that the folders of programs may lie elsewhere after an upgrade: kubelet and kube-proxy are then known by their
	// versions and checksums, so that one that only moved runs on, and another one in the same place is started.
	Move bool
	// Dir holds the files; RestartContainerd are those of them that containerd reads at its start alone.
	Dir               string
	RestartContainerd []string
	// Socket is containerd's.
	Socket string
	// Images are imported before the kubelet starts, and so are the archives in Folder, which is empty for none.
	Images []release.Image
	Folder string
	// AddonImages is a folder with archives that are imported beside the kubelet, as soon as they are there; empty for none.
	AddonImages string
	// Marks is the folder that notes which images were imported, when it is not [ContainerdRoot].
	Marks string
	// Name of the node, and the address at which its kubelet is reached.
	Name    string
	Address netip.Addr
	// Health is where kubelet and kube-proxy say how they are.
	Health netip.Addr
	// Label is "key=value", with which the node registers. The others come from KQueen once it is there.
	Label string
	// PodCIDR is the range of all pods of the cluster.
	PodCIDR netip.Prefix
	// ProxyMode is kube-proxy's.
	ProxyMode string
}

// criVersion is the method of the CRI that tells its version. containerd runs without its CRI plugin when that could not be
// loaded, such as for want of inotify instances, and no kubelet can work with it then.
const criVersion = "http://containerd/runtime.v1.RuntimeService/Version"

// Containerd is the container runtime.
func (p Programs) Containerd() supervise.Component {
	return supervise.Component{
		Name: ComponentContainerd,
		Path: p.Parts.Program("containerd"),
		Args: []string{"--config", p.path(FileContainerd)},
		// A restart leaves the pods alone: their shims live on.
		RestartOn: p.RestartContainerd,
		Probe:     &supervise.Probe{URL: criVersion, Socket: p.Socket},
	}
}

// Kubelet waits for containerd and gives it the images that cannot be pulled, before any pod asks for them.
func (p Programs) Kubelet() supervise.Component {
	args := p.importer()
	for _, image := range p.Images {
		args = append(args, "--image", image.Archive)
	}
	if p.Folder != "" {
		args = append(args, "--images", p.Folder)
	}
	args = append(args, "--", p.Binaries.Path("kubelet"),
		"--config="+p.path(FileKubelet),
		"--kubeconfig="+KubeletKubeconfig,
		"--bootstrap-kubeconfig="+p.path(FileBootstrap),
		"--cert-dir="+KubeletCerts,
		"--hostname-override="+p.Name,
		"--node-ip="+p.Address.String(),
		"--node-labels="+p.Label,
	)
	beside := map[string]string{p.Parts.Program("ctr"): "ctr"}
	for _, image := range p.Images {
		beside[image.Archive] = image.Name
	}
	return p.known("kubelet", beside, supervise.Component{
		Name:      ComponentKubelet,
		Path:      p.Program,
		Args:      args,
		After:     []string{ComponentContainerd},
		RestartOn: []string{FileKubelet, FileCA},
		Probe:     &supervise.Probe{URL: "http://" + p.health(PortKubeletHealth) + "/healthz"},
	})
}

// Importer gives containerd the images of addons once the kubelet has joined, labels the node, and then idles in next to no memory. It
// is a component of its own so that no node waits for them, and no kubelet is restarted when later ones come. There is none where there
// is nothing to import.
func (p Programs) Importer() []supervise.Component {
	if p.AddonImages == "" || p.Parts.Idle() == "" {
		return nil
	}
	return []supervise.Component{{
		Name:  ComponentImporter,
		Path:  p.Program,
		Args:  append(p.importer(), "--path", KubeletKubeconfig, "--images", p.AddonImages, "--insist", "--label", p.Name, "--", p.Parts.Idle()),
		After: []string{ComponentContainerd},
	}}
}

// importer are the arguments of kqueen with which it imports images before it becomes another program.
func (p Programs) importer() []string {
	args := []string{"machine", "start", "--socket", p.Socket, "--importer", p.Parts.Program("ctr")}
	if p.Marks != "" {
		args = append(args, "--marks", p.Marks)
	}
	return args
}

// starterBuild is raised for a kqueen whose way to start a kubelet or kube-proxy has to replace that of those which run.
const starterBuild = "machine start 1"

// known says what a component is that kqueen starts and then becomes: a program of Kubernetes, by its version and checksum, and what else
// its arguments name by paths.
func (p Programs) known(program string, beside map[string]string, c supervise.Component) supervise.Component {
	sum := p.Binaries.Components[program].SHA256
	if !p.Move || sum == "" {
		return c
	}
	c.Build, c.Moves = starterBuild, map[string]string{p.Binaries.Path(program): program + " " + p.Binaries.Version.String() + " sha256:" + sum}
	maps.Copy(c.Moves, beside)
	return c
}

// Proxy is kube-proxy with the node's own identity, which is there once the kubelet has joined.
func (p Programs) Proxy() supervise.Component {
	return p.known("kube-proxy", nil, supervise.Component{
		Name: ComponentProxy,
		Path: p.Program,
		Args: []string{
			"machine", "start", "--path", KubeletKubeconfig, "--", p.Binaries.Path("kube-proxy"),
			"--kubeconfig=" + KubeletKubeconfig,
			"--hostname-override=" + p.Name,
			"--proxy-mode=" + p.ProxyMode,
			"--cluster-cidr=" + p.PodCIDR.String(),
			"--healthz-bind-address=" + p.health(PortProxyHealth),
			"--metrics-bind-address=127.0.0.1:" + strconv.Itoa(PortProxyMetrics),
			// The host's limits are not a machine's to change.
			"--conntrack-max-per-core=0",
			"--conntrack-tcp-timeout-established=0",
			"--conntrack-tcp-timeout-close-wait=0",
		},
		After:     []string{ComponentKubelet},
		RestartOn: []string{FileCA},
	})
}

func (p Programs) path(file string) string { return filepath.Join(p.Dir, file) }

func (p Programs) health(port int) string {
	return net.JoinHostPort(p.Health.String(), strconv.Itoa(port))
}
