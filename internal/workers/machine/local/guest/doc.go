// Package guest is what runs inside a machine that is made on this host: process 1 of its namespaces,
// which makes the machine's mounts and network and carries calls to the API server and from it.
//
// It hides namespaces, mounts and netlink. Package local writes its configuration; the command line
// starts it. It keeps no state: a new life begins from the configuration.
package guest

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"

	"kqueen.io/kqueen/internal/workers/machine"
)

// Config says what a machine is. It is a file in the machine's directory.
type Config struct {
	// Hostname of the machine.
	Hostname string `json:"hostname"`
	// Network is the machine's place in its cluster's network on this host.
	Network Network `json:"network"`
	// Masquerade is the range of pods, whose packets to others leave under the machine's address; nothing when the
	// network of the cluster sees to that, or is not made of IPv4.
	Masquerade netip.Prefix `json:"masquerade,omitzero"`
	// Mounts are made in their order.
	Mounts []Mount `json:"mounts"`
	// Keep are paths of the host that stay visible, whatever is mounted above them.
	Keep []string `json:"keep"`
	// Cgroup is the path, below each hierarchy, in which the machine's pods live, such as "/kqueen/<uid>".
	Cgroup string `json:"cgroup"`
	// Size bounds the pods.
	Size machine.Size `json:"size,omitzero"`
	// Forward are the connections that the machine carries to the host.
	Forward []Forward `json:"forward,omitempty"`
	// Exit is the machine's directory, where the calls of the API server come in; empty for none. They go to pods and
	// Services, which are in Ranges.
	Exit   string         `json:"exit,omitempty"`
	Ranges []netip.Prefix `json:"ranges,omitempty"`
	// Health is where "GET /healthz" answers 200 once the machine is made.
	Health netip.AddrPort `json:"health"`
	// RoutesFile holds a JSON list of Route; it is read again when it has changed.
	RoutesFile string `json:"routesFile"`
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

// Mount is one mount of the machine. Kind is "bind" (Source is a directory, made when missing),
// "overlay" (Source is the lower directory, Upper a private one that takes all changes) or "tmpfs".
type Mount struct {
	Kind   string `json:"kind"`
	Source string `json:"source,omitempty"`
	Upper  string `json:"upper,omitempty"`
	Target string `json:"target"`
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
