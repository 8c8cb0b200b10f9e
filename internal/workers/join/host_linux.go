package join

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/workers/node"
)

// Versions of cgroups, as [Host.Cgroups].
const (
	cgroupsV1 = "v1"
	cgroupsV2 = "v2"
)

// Host is what a machine is like that may become a node.
type Host struct {
	Root bool
	// Cgroups is "v1" or "v2"; empty when none are mounted.
	Cgroups string
	// Swap are the devices and files to which memory is swapped.
	Swap []string
	// Taken are the ports of a node on which another program listens.
	Taken []int
	// Missing are programs that a kubelet calls and that are not in PATH.
	Missing []string
	// ProxyMode is that of kube-proxy; empty when the tools of none are there.
	ProxyMode string
	// Foreign are paths by which another kubelet shows itself.
	Foreign []string

	mayLowerOOM bool
	// resolvConf is the file with the name servers of the machine when pods reach them all, and servers are those
	// that they do reach otherwise.
	resolvConf, servers string
}

// Look finds out what this machine is like. joined says that it is a node of ours already: then its ports are taken
// and its files there by rights.
func Look(ctx context.Context, joined bool) (Host, error) {
	h := Host{Root: os.Geteuid() == 0, ProxyMode: node.ProxyMode(), mayLowerOOM: node.MayLowerOOM(), Cgroups: cgroups()}
	h.resolvConf, h.servers = resolvers("/etc/resolv.conf", "/run/systemd/resolve/resolv.conf")
	for _, program := range []string{"mount", "umount"} {
		if _, err := exec.LookPath(program); err != nil {
			h.Missing = append(h.Missing, program)
		}
	}
	swaps, err := os.ReadFile("/proc/swaps")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return h, fmt.Errorf("look for swap: %w", err)
	}
	h.Swap = swapsOf(string(swaps))
	if joined {
		return h, nil
	}
	for _, port := range []int{node.PortKubelet, node.PortKubeletHealth, node.PortProxyMetrics, node.PortProxyHealth} {
		if taken(ctx, port) {
			h.Taken = append(h.Taken, port)
		}
	}
	for _, sign := range []string{
		"/etc/kubernetes/kubelet.conf", "/etc/kubernetes/bootstrap-kubelet.conf", filepath.Join(node.KubeletDir, "config.yaml"),
		node.KubeletKubeconfig, node.KubeletCerts,
	} {
		if _, err := os.Lstat(sign); err == nil {
			h.Foreign = append(h.Foreign, sign)
		}
	}
	return h, nil
}

// Check says everything that keeps the machine from becoming a node, and what would be right. It is pure.
func (h Host) Check() error {
	if !h.Root {
		return errors.New("only root can join a machine; run the same as root")
	}
	var all []error
	add := func(format string, args ...any) { all = append(all, fmt.Errorf(format, args...)) }
	if len(h.Foreign) > 0 {
		add("the machine is or was a node of something else: %s %s there; reset it with that first (kubeadm reset)",
			strings.Join(h.Foreign, ", "), is(len(h.Foreign)))
	}
	if len(h.Taken) > 0 {
		ports := make([]string, 0, len(h.Taken))
		for _, p := range h.Taken {
			ports = append(ports, strconv.Itoa(p))
		}
		add("something listens on %s %s, which a node needs; end it first", plural(len(ports), "port", "ports"), strings.Join(ports, ", "))
	}
	if h.Cgroups == "" {
		add("no cgroups are mounted at /sys/fs/cgroup; a kubelet needs them, of version 1 or 2")
	}
	if len(h.Swap) > 0 {
		add("swap is on (%s), with which a kubelet does not start; turn it off with: swapoff -a, and for good in /etc/fstab", strings.Join(h.Swap, ", "))
	}
	if h.ProxyMode == "" {
		add("neither nft nor iptables is in PATH, and kube-proxy needs one; install one of the packages nftables and iptables")
	}
	if len(h.Missing) > 0 {
		add("%s %s not in PATH; install the package mount or util-linux", strings.Join(h.Missing, ", "), is(len(h.Missing)))
	}
	return errors.Join(all...)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func is(n int) string { return plural(n, "is", "are") }

func cgroups() string {
	if node.CgroupV2() {
		return cgroupsV2
	}
	entries, err := os.ReadDir("/sys/fs/cgroup")
	if err != nil || !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "memory" }) {
		return ""
	}
	return cgroupsV1
}

// swapsOf reads /proc/swaps, whose first line is a heading. It is pure.
func swapsOf(text string) []string {
	var all []string
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if fields := strings.Fields(line); i > 0 && len(fields) > 0 {
			all = append(all, fields[0])
		}
	}
	return all
}

// taken tries to listen. Only "in use" counts.
func taken(ctx context.Context, port int) bool {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(port)))
	if err != nil {
		return errors.Is(err, unix.EADDRINUSE)
	}
	_ = l.Close()
	return false
}

// resolvers returns the first file all of whose name servers can be reached from a pod's network; when there is
// none, the servers of the first one that can be.
func resolvers(files ...string) (file, servers string) {
	servers = node.NoServers
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if reachable := node.ReachableServers(string(data)); reachable == node.NoServers {
			continue
		} else if servers == node.NoServers {
			servers = reachable
		}
		if allReachable(string(data)) {
			return file, servers
		}
	}
	return "", servers
}

// allReachable says whether a resolv.conf names no server at a loopback address. It is pure.
func allReachable(resolvConf string) bool {
	count := func(text string) int { return strings.Count("\n"+text, "\nnameserver") }
	return count(resolvConf) == count(node.ReachableServers(resolvConf))
}
