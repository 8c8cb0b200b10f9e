//go:build linux

package local

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/node"
)

// facts are what the host is like.
type facts struct {
	root        bool
	mayLowerOOM bool   // programs may protect themselves from being killed for memory
	proxyMode   string // of kube-proxy; empty when the host has the tools of none
	resolvConf  string // name servers that can be reached from another network
	size        machine.Size
	pids        int64 // processes and threads that the kernel allows; 0 when it does not say
}

// look finds out what the host is like.
func look() (facts, error) {
	size, err := node.HostSize()
	if err != nil {
		return facts{}, err
	}
	f := facts{size: size, resolvConf: node.NoServers, root: os.Geteuid() == 0, mayLowerOOM: node.MayLowerOOM(), proxyMode: node.ProxyMode()}
	if data, err := os.ReadFile("/proc/sys/kernel/pid_max"); err == nil {
		if f.pids, err = strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err != nil {
			return facts{}, fmt.Errorf("read how many processes the kernel allows: %w", err)
		}
	}
	if data, err := os.ReadFile("/etc/resolv.conf"); err == nil {
		f.resolvConf = node.ReachableServers(string(data))
	}
	return f, nil
}

// fits says whether the host can be a machine of a size.
func (f facts) fits(s machine.Size) error {
	switch {
	case s.MilliCPU > f.size.MilliCPU:
		return &invalid.Error{Field: "spec.resources.cpu", Problem: fmt.Sprintf(
			"is more than this host has; choose at most %s", resource.NewMilliQuantity(f.size.MilliCPU, resource.DecimalSI))}
	case s.Memory > f.size.Memory:
		return &invalid.Error{Field: "spec.resources.memory", Problem: fmt.Sprintf(
			"is more than this host has; choose at most %s", resource.NewQuantity(f.size.Memory, resource.BinarySI))}
	}
	return nil
}

// reserved is what the kubelet of a machine of a size must take for used, because it sees all of the host; nil for
// nothing. It is pure.
func (f facts) reserved(s machine.Size) map[string]string {
	reserved := map[string]string{}
	if s.MilliCPU > 0 && s.MilliCPU < f.size.MilliCPU {
		reserved["cpu"] = resource.NewMilliQuantity(f.size.MilliCPU-s.MilliCPU, resource.DecimalSI).String()
	}
	if s.Memory > 0 && s.Memory < f.size.Memory {
		reserved["memory"] = resource.NewQuantity(f.size.Memory-s.Memory, resource.BinarySI).String()
	}
	if len(reserved) == 0 {
		return nil
	}
	return reserved
}

const (
	// programsMemory is what the programs of a node take beside its pods, with a shim for each of those.
	programsMemory = 1 << 30
	// pidsShare is the share of the host's processes that one machine may have at most: its 1/pidsShare.
	pidsShare, mostPIDs = 4, 32768
	// hostShare is the share of the host's memory that a machine without a size leaves to the host.
	hostShare = 10
)

// limits bound all that runs in a machine of a size: more than its pods, so that those meet their own bounds first. It is
// pure.
func (f facts) limits(s machine.Size, users bool) node.Limits {
	l := node.Limits{Size: s, PIDs: min(f.pids/pidsShare, mostPIDs), Devices: users}
	if s.Memory > 0 {
		l.Size.Memory = s.Memory + programsMemory
	}
	if most := f.size.Memory - f.size.Memory/hostShare; most > 0 && (l.Size.Memory == 0 || l.Size.Memory > most) {
		l.Size.Memory = max(most, s.Memory)
	}
	return l
}

// check says why the host cannot run machines.
func (f facts) check() error {
	switch {
	case !f.root:
		return fmt.Errorf("%w: KQueen does not run as root; start it as root, or join machines of your own to a pool of the provider manual", machine.ErrUnsupported)
	case f.proxyMode == "":
		return fmt.Errorf("%w: neither nft nor iptables is in PATH; install one of the packages nftables and iptables", machine.ErrUnsupported)
	}
	return nil
}

// HostNetworks are the networks of the host's interfaces.
func HostNetworks() ([]netip.Prefix, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var all []netip.Prefix
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, p.Masked())
		}
	}
	return all, nil
}
