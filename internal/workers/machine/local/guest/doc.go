// Package guest makes and keeps one machine on this host: a process of the host, outside, which makes the machine's
// network, cgroups and file system and carries calls to the API server and from it; and process 1 within, which is all that
// it has there, and starts what it is asked to.
//
// It hides namespaces, mounts, netlink and what passes between the two processes. Package local writes the configuration;
// the command line starts both. It keeps no state: a new life begins from the configuration. The outer process trusts
// nothing that comes from within: no file of its own is visible there, and what process 1 answers is checked.
package guest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/netip"
	"os"

	"kqueen.io/kqueen/internal/workers/node"
)

// Config says what a machine is. It is a file in the machine's directory, which the machine does not see.
type Config struct {
	// Hostname of the machine.
	Hostname string `json:"hostname"`
	// Network is the machine's place in its cluster's network on this host.
	Network Network `json:"network"`
	// Masquerade is the range of pods, whose packets to others leave under the machine's address; nothing when the
	// network of the cluster sees to that, or is not made of IPv4.
	Masquerade netip.Prefix `json:"masquerade,omitzero"`
	// IDs are the users and groups of the host that stand for those of the machine; nil where the machine has the host's.
	IDs *IDs `json:"ids,omitempty"`
	// Program is kqueen, which is process 1 too. It has to be among Tree.
	Program string `json:"program"`
	// Stage is a folder on which the tree is made, out of sight of the host.
	Stage string `json:"stage"`
	// Tree is the machine's file system, made in this order, and Tools are programs of the host that are added with the
	// libraries that they need; those that the host has not are left out.
	Tree  []Entry  `json:"tree"`
	Tools []string `json:"tools"`
	// Cgroup is the machine's path below each hierarchy, such as "/kqueen/<uid>", and Limits are those of all that runs in
	// the machine.
	Cgroup string      `json:"cgroup"`
	Limits node.Limits `json:"limits"`
	// Forward are the connections that the machine carries to the host.
	Forward []Forward `json:"forward,omitempty"`
	// Exit is the machine's directory, where the calls of the API server come in; empty for none. They go to pods and
	// Services, which are in Ranges.
	Exit   string         `json:"exit,omitempty"`
	Ranges []netip.Prefix `json:"ranges,omitempty"`
	// Starts is the socket at which the supervisor asks for programs to be started in the machine.
	Starts string `json:"starts"`
	// Health is where "GET /healthz" answers 200 once the machine is made.
	Health netip.AddrPort `json:"health"`
	// RoutesFile holds a JSON list of Route; it is read again when it has changed.
	RoutesFile string `json:"routesFile"`
}

// IDs are a range of users, and of groups, of the host: the machine's 0 is the host's First, and so on.
type IDs struct {
	First int `json:"first"`
	Count int `json:"count"`
}

// Kind is what an entry of a machine's tree is.
type Kind string

// The kinds of entries. All but KindOwn and KindTmpfs cannot be changed from within.
const (
	KindFolder   Kind = "folder"   // an empty folder
	KindText     Kind = "text"     // a file with Text
	KindCopy     Kind = "copy"     // a file with what Source, of the host, holds now
	KindLink     Kind = "link"     // a symbolic link to Source
	KindReadOnly Kind = "readOnly" // a file or folder of the host, as the machine's users may read it
	KindShown    Kind = "shown"    // the same, with all that root of the host may read in it
	KindDevice   Kind = "device"   // a device of the host
	KindOwn      Kind = "own"      // a folder of the host that is the machine's own; made when missing
	KindTmpfs    Kind = "tmpfs"    // a folder of the machine that is gone with its life
)

// Entry is one entry of a machine's tree. Parents are made.
type Entry struct {
	Kind   Kind        `json:"kind"`
	Target string      `json:"target"`
	Source string      `json:"source,omitempty"`
	Text   string      `json:"text,omitempty"`
	Mode   fs.FileMode `json:"mode,omitempty"`
	// Optional entries are left out where the host has no Source.
	Optional bool `json:"optional,omitempty"`
}

// Network is a machine's place in the network of its cluster on this host: a bridge for each cluster,
// and a pair of virtual interfaces for each machine.
type Network struct {
	// Bridge is the bridge's name on the host, and Gateway its address in the cluster's subnet.
	Bridge  string       `json:"bridge"`
	Gateway netip.Prefix `json:"gateway"`
	// Link is the name of the host's end; the other is eth0 in the machine, with Address.
	Link    string       `json:"link"`
	Address netip.Prefix `json:"address"`
	// HostPorts are the TCP ports of the host that machines may call; they may call nothing else of it.
	HostPorts []PortRange `json:"hostPorts,omitempty"`
}

// PortRange is the first and the last port of a range.
type PortRange struct {
	First uint16 `json:"first"`
	Last  uint16 `json:"last"`
}

// Forward carries connections to Listen, an address that the machine gets for itself, to Connect on the host.
type Forward struct {
	Listen  netip.AddrPort `json:"listen"`
	Connect netip.AddrPort `json:"connect"`
}

// Route leads to the pods of another machine.
type Route struct {
	To  netip.Prefix `json:"to"`
	Via netip.Addr   `json:"via"`
}

// Read reads a configuration.
func Read(file string) (Config, error) {
	var c Config
	data, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("read the machine's configuration: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read the machine's configuration %s: %w", file, err)
	}
	return c, nil
}
