package node

import (
	"bufio"
	"net/netip"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// NoServers is a resolv.conf that says nothing and is not empty: for an empty one others are taken.
const NoServers = "options ndots:1\n"

// ProxyMode is the mode of kube-proxy for which this host has the tools; empty when it has those of none.
func ProxyMode() string {
	for _, tool := range []struct{ program, mode string }{{"nft", "nftables"}, {"iptables", "iptables"}} {
		if _, err := exec.LookPath(tool.program); err == nil {
			return tool.mode
		}
	}
	return ""
}

// MayLowerOOM says whether programs may protect themselves from being killed for memory.
func MayLowerOOM() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	const number, word = unix.CAP_SYS_RESOURCE, 32
	return data[number/word].Effective&(1<<(number%word)) != 0
}

// ReachableServers leaves out name servers at a loopback address: in another network than the host's that is
// another program. It is pure.
func ReachableServers(resolvConf string) string {
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
		return NoServers
	}
	return out.String()
}
