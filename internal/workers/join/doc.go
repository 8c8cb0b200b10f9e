// Package join joins the machine on which it runs to a cluster, and takes it out again: what `kqueen node join`
// does on a machine of the user's own.
//
//	check the machine ──► trust the cluster ──► remember ──► describe to a runner ──► node registered, ready
//	pods stopped, programs stopped, what they left removed ◄── leave
//
// It hides how a cluster is trusted at first sight (by a token and the hash of its key, as kubeadm does),
// where everything lies, and what programs leave on a machine. Its state is one file, [Record]. It knows no admin
// plane: the token is all that it has. The command line imports it, and hands in a supervisor.
package join

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/workers/machine"
)

// DefaultDir is where a joined machine keeps everything, unless the operator chooses another directory.
const DefaultDir = "/var/lib/kqueen-node"

// StateDir is containerd's for what the end of the machine's life clears. There is one node on a machine.
const StateDir = "/run/kqueen-node"

// Workload is the id under which a runner runs the node's programs.
const Workload = "node"

// Names of files in a place.
const (
	recordFile = "node.json"
	statusFile = "status.json"
)

// Place is the folder in which a joined machine keeps everything. It belongs to root alone.
type Place string

// Record is what a machine keeps from joining until it leaves.
type Record struct {
	// Node is its name in the cluster, and Address the one at which its kubelet is reached.
	Node    string     `json:"node"`
	Address netip.Addr `json:"address"`
	Cluster Cluster    `json:"cluster"`
	// Releases is the folder of the store that has the programs of Kubernetes, and Parts that of containerd and its
	// company. A newer one is for newer machines.
	Releases string `json:"releases"`
	Parts    string `json:"parts"`
	// Token joins the machine. It is gone as soon as the kubelet has an identity.
	Token string `json:"token,omitempty"`
	// Before is what was there when the machine had not joined: it stays when the machine leaves.
	Before Before `json:"before"`
}

// Before is what was on a machine when it had not joined.
type Before struct {
	// Folders are the entries of those folders into which programs of a node write, by their paths. One that was not
	// there is not among them.
	Folders map[string][]string `json:"folders"`
	// Links are the names of network interfaces, Mounts the paths at which something is mounted, Tables those of the
	// packet filter.
	Links  []string `json:"links"`
	Mounts []string `json:"mounts"`
	Tables []string `json:"tables"`
	// Kernel are settings that a node needs otherwise, by their paths below /proc/sys.
	Kernel map[string]string `json:"kernel"`
}

// Cluster is what a machine learns of the cluster that it joins.
type Cluster struct {
	// Server is host:port of the API server, and CA (PEM) what signs its certificate.
	Server string `json:"server"`
	CA     []byte `json:"ca"`
	// Version of Kubernetes, such as "v1.36.3".
	Version string       `json:"version"`
	PodCIDR netip.Prefix `json:"podCIDR"`
	// DNS is the address of the cluster's name service, and DNSDomain the suffix of its names.
	DNS       netip.Addr `json:"dns"`
	DNSDomain string     `json:"dnsDomain"`
	// CNI is the plugin of the pod network, as spec.cni of a Cluster but in small letters; empty when the cluster does not say.
	CNI string `json:"cni,omitempty"`
}

// Cgroup is that of the machine's pods, below each hierarchy.
func (r *Record) Cgroup() string { return "/kqueen/" + r.Node }

// Record reads what the machine keeps; nil when it has not joined.
func (p Place) Record() (*Record, error) {
	data, err := os.ReadFile(p.file(recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what this machine has joined: %w", err)
	}
	r := &Record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("read what this machine has joined, %s: %w", p.file(recordFile), err)
	}
	return r, nil
}

// Save writes what the machine keeps.
func (p Place) Save(r *Record) error { return p.write(atomicfile.Host{}, recordFile, r) }

// Status is how the node's programs are, as their supervisor has written it; the zero value when it has not.
func (p Place) Status() (machine.Observed, error) {
	var o machine.Observed
	data, err := os.ReadFile(p.file(statusFile))
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return o, fmt.Errorf("read how the node's programs are: %w", err)
	}
	return o, nil
}

// lostAndFound is what some disks have by themselves.
const lostAndFound = "lost+found"

// Empty says why a machine cannot keep a node in the folder: all that lies in it goes when the machine leaves. Half of a
// record, which a crash has left, may lie there.
func (p Place) Empty() error {
	entries, err := os.ReadDir(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into the folder of the node: %w", err)
	}
	for _, e := range entries {
		if name := e.Name(); name != lostAndFound && !strings.HasPrefix(name, "."+recordFile+".") {
			return fmt.Errorf("%s holds %s, and all that it holds goes when the machine leaves; choose a new or an empty folder with --dir", p, name)
		}
	}
	return nil
}

// write replaces a file as a whole. It is there when write returns, also after a loss of power: what leaving takes away,
// and what it leaves, is known from the record alone.
func (p Place) write(disk atomicfile.Disk, name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := atomicfile.Folder(disk, string(p), 0o700); err != nil {
		return fmt.Errorf("make the folder of the node: %w", err)
	}
	return atomicfile.WriteOn(disk, p.file(name), append(data, '\n'), 0o600)
}

func (p Place) file(name string) string { return filepath.Join(string(p), name) }

// containerd is the directory of its images and containers.
func (p Place) containerd() string { return p.file("containerd") }

// socket is containerd's.
func socket() string { return filepath.Join(StateDir, "containerd.sock") }
