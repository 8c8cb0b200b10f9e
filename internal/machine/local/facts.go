//go:build linux

package local

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/machine"
)

// facts are what the host is like.
type facts struct {
	root        bool
	mayLowerOOM bool   // programs may protect themselves from being killed for memory
	proxyMode   string // of kube-proxy; empty when the host has the tools of none
	resolvConf  string // name servers that can be reached from another network
}

// noServers is a resolv.conf that says nothing and is not empty: for an empty one others are taken.
const noServers = "options ndots:1\n"

// look finds out what the host is like.
func look() facts {
	f := facts{resolvConf: noServers, root: os.Geteuid() == 0, mayLowerOOM: hasCapability(unix.CAP_SYS_RESOURCE)}
	for _, tool := range []struct{ program, mode string }{{"nft", "nftables"}, {"iptables", "iptables"}} {
		if _, err := exec.LookPath(tool.program); err == nil {
			f.proxyMode = tool.mode
			break
		}
	}
	if data, err := os.ReadFile("/etc/resolv.conf"); err == nil {
		f.resolvConf = reachableServers(string(data))
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

func hasCapability(number uint) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	const word = 32
	return data[number/word].Effective&(1<<(number%word)) != 0
}

// reachableServers leaves out name servers at a loopback address: in a machine's network it is another.
func reachableServers(resolvConf string) string {
	var out strings.Builder
	lines := bufio.NewScanner(strings.NewReader(resolvConf))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(fields[1]); err == nil && !a.IsLoopback() {
			out.WriteString("nameserver " + a.String() + "\n")
		}
	}
	if out.Len() == 0 {
		return noServers
	}
	return out.String()
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
