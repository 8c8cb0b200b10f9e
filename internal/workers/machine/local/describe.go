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

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/machine/local/guest"
	"kqueen.io/kqueen/internal/workers/node"
)

// componentMachine makes a machine and keeps it, beside the components of every node, which run within.
const componentMachine = "machine"

// portMachineHealth is a port of a machine's own address, beside those of every node.
const portMachineHealth = 10247

// containerdSocket is a path within a machine.
const containerdSocket = "/run/containerd/containerd.sock"

// Names of files in a machine's directory. What is in the folder confDir the machine sees, and may read; the others are the
// host's alone.
const (
	fileGuest  = "guest.json"
	fileRoutes = "routes.json"
	confDir    = "conf"
	fileCNI    = "cni.template"
)

// description is everything that a machine depends on.
type description struct {
	machine.Desired
	record record
	facts  facts
	dir    string
	images string
	// addonsDir holds the images of addons, each build in a folder of its own; addons is the newest of them, empty for none yet.
	addonsDir string
	addons    release.AddonImages
	parts     release.NodeParts
	binaries  release.Binaries
	listen    netip.Addr
	hostPorts guest.PortRange
	// trusted are the authorities that the programs of the machine trust now.
	trusted []byte
	// pauseImage is empty for the one among parts.
	pauseImage string
}

// describe says what runs for a machine. It is pure: the same description gives the same workload.
func describe(d description) (supervise.Workload, error) {
	files, err := d.files()
	if err != nil {
		return supervise.Workload{}, err
	}
	p := d.programs()
	w := supervise.Workload{
		ID: string(d.UID), Files: files,
		Subject: supervise.Subject{
			Name: v1alpha1.NamespacePrefix + d.Cluster.Organization + "/" + d.Name, Cluster: d.Cluster.Organization + "/" + d.Cluster.Name, Node: true,
		},
		Components: []supervise.Component{d.machine(), within(p.Containerd()), within(p.Kubelet()), within(p.Proxy())},
	}
	for _, c := range append(p.Importer(), p.Renewal(d.Cluster.CA, d.trusted)...) {
		w.Components = append(w.Components, within(c))
	}
	return w, nil
}

func (d description) machine() supervise.Component {
	return supervise.Component{
		Name: componentMachine,
		Path: d.record.Program,
		// That of a machine stays for its life, wherever the program lies later.
		Build: "machine 1",
		// It is never restarted for another description: that would end all pods.
		Args:  []string{"machine", "run", "--config", d.path(fileGuest)},
		Probe: &supervise.Probe{URL: "http://" + d.at(portMachineHealth) + "/healthz"},
	}
}

// programs are what makes the machine a node. All paths are those within.
func (d description) programs() node.Programs {
	parts := d.insideParts()
	return node.Programs{
		AddonImages: d.insideAddonImages(), Program: insideProgram, Parts: parts, Binaries: d.insideBinaries(),
		Images: node.ImagesFor(d.Cluster.CNI, parts.Images()), Folder: insideImages,
		Dir: insideConf, RestartContainerd: []string{node.FileContainerd, fileCNI}, Socket: containerdSocket,
		Name: d.Name, Address: d.address(), Health: d.address(),
		Label: v1alpha1.LabelProvider + "=" + v1alpha1.ProviderLocal, PodCIDR: d.Cluster.PodCIDR, ProxyMode: d.facts.proxyMode,
	}
}

// within has a component run in the machine.
func within(c supervise.Component) supervise.Component {
	c.Within = componentMachine
	for i, file := range c.RestartOn {
		c.RestartOn[i] = shown(file)
	}
	return c
}

// shown is the name of a file that the machine may read, in its directory.
func shown(file string) string { return filepath.Join(confDir, file) }

func (d description) path(file string) string { return filepath.Join(d.dir, file) }
func (d description) address() netip.Addr     { return d.record.Address.Addr() }
func (d description) at(port int) string {
	return net.JoinHostPort(d.address().String(), strconv.Itoa(port))
}

// guest is what makes the machine.
func (d description) guest() (guest.Config, error) {
	c := guest.Config{
		Hostname: d.Name,
		Network: guest.Network{
			Bridge: bridgeOf(d.Ref.Cluster), Gateway: gateway(d.record.Address),
			Link: linkOf(d.UID), Address: d.record.Address,
		},
		IDs:        d.record.IDs,
		Program:    insideProgram,
		Stage:      d.path("stage"),
		Tree:       d.tree(),
		Tools:      tools(),
		Cgroup:     cgroupOf(d.UID),
		Limits:     d.facts.limits(d.Size, d.record.IDs != nil),
		Health:     netip.AddrPortFrom(d.address(), portMachineHealth),
		Exit:       d.dir,
		Ranges:     d.ranges(),
		Starts:     d.path(supervise.StartSocket(componentMachine)),
		RoutesFile: d.path(fileRoutes),
	}
	if d.masquerades() {
		c.Masquerade = d.Cluster.PodCIDR
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

// masquerades says whether process 1 lets pods out, and not a rule for each pod.
func (d description) masquerades() bool {
	return d.record.Masquerades && d.Cluster.CNI == v1alpha1.CNIRoutes && d.Cluster.PodCIDR.Addr().Is4()
}

// ranges are those of pods and Services.
func (d description) ranges() []netip.Prefix {
	return []netip.Prefix{d.Cluster.PodCIDR, d.Cluster.ServiceCIDR}
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

func (d description) files() (map[string]supervise.File, error) {
	inside, err := d.guest()
	if err != nil {
		return nil, err
	}
	kubelet, err := d.kubeletConfig()
	if err != nil {
		return nil, fmt.Errorf("write the kubelet's configuration: %w", err)
	}
	files := map[string]supervise.File{
		shown(node.FileContainerd):  {Data: []byte(d.containerdConfig())},
		shown(fileCNI):              {Data: fmt.Appendf(nil, cniTemplate, !d.masquerades())},
		shown(node.FileKubelet):     {Data: kubelet},
		shown(node.FileCA):          {Data: d.trusted},
		shown(node.FileAuthorities): {Data: d.Cluster.CA},
		shown(node.FileResolv):      {Data: []byte(d.facts.resolvConf)},
	}
	if d.Token != "" {
		if files[shown(node.FileBootstrap)], err = d.bootstrap(); err != nil {
			return nil, err
		}
	} else {
		// What is no longer good must not lie about. Files that are not described stay.
		files[shown(node.FileBootstrap)] = supervise.File{}
	}
	for name, value := range map[string]any{fileGuest: inside, fileRoutes: d.routes(), recordFile: d.record} {
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		files[name] = supervise.File{Data: data}
	}
	exit, err := egress.Mark{Cluster: string(d.Ref.Cluster), Machine: d.address()}.Encode()
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", egress.MarkFile, err)
	}
	files[egress.MarkFile] = supervise.File{Data: exit}
	return files, nil
}
