package join

import (
	"fmt"
	"net/netip"
	"path/filepath"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/node"
)

// pluginsDir is where a network that runs in the cluster installs its plugins.
const pluginsDir = "/opt/cni/bin"

// description is everything that the node's programs depend on.
type description struct {
	record   Record
	place    Place
	dir      string // of the files
	host     Host
	program  string // kqueen
	parts    release.NodeParts
	addons   release.AddonImages // none where its folder is empty
	binaries release.Binaries
	trusted  []byte // the authorities that the programs trust now
}

// describe says what runs on the machine. It is pure: the same description gives the same workload.
func (d description) describe() (supervise.Workload, error) {
	files, err := d.files()
	if err != nil {
		return supervise.Workload{}, err
	}
	p := d.programs()
	return supervise.Workload{ID: Workload, Files: files, Components: append(
		[]supervise.Component{p.Containerd(), p.Kubelet(), p.Proxy()}, append(p.Importer(), p.Renewal(d.record.Cluster.CA, d.trusted)...)...)}, nil
}

// runtimeAlone is the machine without what would start pods, so that they can be stopped.
func (d description) runtimeAlone() (supervise.Workload, error) {
	w, err := d.describe()
	if err == nil {
		w.Components = w.Components[:1]
	}
	return w, err
}

func (d description) programs() node.Programs {
	images := ""
	if d.addons.Dir != "" {
		images = d.addons.Folder()
	}
	return node.Programs{
		AddonImages: images, Program: d.program, Parts: d.parts, Binaries: d.binaries, Move: true,
		Dir: d.dir, RestartContainerd: []string{node.FileContainerd}, Socket: socket(),
		Images: node.ImagesFor(d.record.Cluster.CNI, d.parts.Images()), Marks: d.place.containerd(),
		Name: d.record.Node, Address: d.record.Address, Health: netip.AddrFrom4([4]byte{127, 0, 0, 1}),
		Label: v1alpha1.LabelProxy + "=" + v1alpha1.ProxyMachine, PodCIDR: d.record.Cluster.PodCIDR, ProxyMode: d.host.ProxyMode,
	}
}

func (d description) files() (map[string]supervise.File, error) {
	kubelet, err := d.kubelet().Config()
	if err != nil {
		return nil, fmt.Errorf("write the kubelet's configuration: %w", err)
	}
	files := map[string]supervise.File{
		node.FileContainerd:  {Data: []byte(d.containerd().Config())},
		node.FileKubelet:     {Data: kubelet},
		node.FileCA:          {Data: d.trusted},
		node.FileAuthorities: {Data: d.record.Cluster.CA},
		node.FileResolv:      {Data: []byte(d.host.servers)},
		node.FileBootstrap:   {}, // what is no longer good must not lie about, and files that are not described stay
	}
	if d.record.Token == "" {
		return files, nil
	}
	data, err := node.Bootstrap(d.record.Cluster.Server, d.record.Cluster.CA, d.record.Token)
	files[node.FileBootstrap] = supervise.File{Data: data}
	return files, err
}

// containerd keeps away from another one that may run on the machine. Plugins of the cluster's network come before
// those that we bring.
func (d description) containerd() node.Containerd {
	return node.Containerd{
		Root: d.place.containerd(), State: filepath.Join(StateDir, "containerd"), Socket: socket(), Parts: d.parts,
		KeepOOM: !d.host.mayLowerOOM, CNIBin: []string{pluginsDir, d.parts.CNI()}, Apart: true,
	}
}

func (d description) kubelet() node.Kubelet {
	resolvConf := d.host.resolvConf
	if resolvConf == "" {
		resolvConf = filepath.Join(d.dir, node.FileResolv)
	}
	return node.Kubelet{
		CAFile: filepath.Join(d.dir, node.FileCA), Socket: socket(), CgroupRoot: d.record.Cgroup(),
		DNS: d.record.Cluster.DNS, Domain: d.record.Cluster.DNSDomain, ResolvConf: resolvConf,
		Health: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), node.PortKubeletHealth),
		// Shares of the disk, upstream's default, are hundreds of gigabytes of a large one.
		Eviction: map[string]string{
			"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi", "nodefs.inodesFree": "5%",
		},
		// Nothing of the kubelet's stays in the packet filter when the machine leaves.
		Limits: map[string]any{"makeIPTablesUtilChains": false},
	}
}
