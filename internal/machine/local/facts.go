//go:build linux

package local

import (
	"fmt"
	"net"
	"net/netip"
	"os"

	"kqueen.io/kqueen/internal/machine"
	"kqueen.io/kqueen/internal/machine/node"
)

// facts are what the host is like.
type facts struct {
	root        bool
	mayLowerOOM bool   // programs may protect themselves from being killed for memory
	proxyMode   string // of kube-proxy; empty when the host has the tools of none
	resolvConf  string // name servers that can be reached from another network
}

// look finds out what the host is like.
func look() facts {
	f := facts{resolvConf: node.NoServers, root: os.Geteuid() == 0, mayLowerOOM: node.MayLowerOOM(), proxyMode: node.ProxyMode()}
	if data, err := os.ReadFile("/etc/resolv.conf"); err == nil {
		f.resolvConf = node.ReachableServers(string(data))
	}
	return f
}

// check says why the host cannot run machines.
func (f facts) check() error {
	switch {
	case !f.root:
		return fmt.Errorf("%w: KQueen does not run as root; start it as root, or bring machines with a pool of provider manual", machine.ErrUnsupported)
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
