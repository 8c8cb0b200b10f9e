package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"kqueen.io/kqueen/internal/hosting/release"
)

// handNode is a node that is made by hand: containerd, kubelet and kube-proxy in namespaces that end with the
// process which holds them.
type handNode struct {
	*hand
	name, address, dir string
	holder             int // process that is in the namespaces
}

// node makes a node and returns once its programs are started.
func (h *hand) node(ctx context.Context, number int) error {
	name := nodeName(number)
	n := &handNode{hand: h, name: name, address: fmt.Sprintf("10.222.0.%d", 10+number), dir: h.file(name)}
	if err := os.MkdirAll(filepath.Join(n.dir, "cni"), 0o700); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{n.namespaces, n.network, n.containerd, n.kubelet} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	h.mu.Lock()
	h.nodes = append(h.nodes, n)
	h.mu.Unlock()
	return h.start(n.within(n.binaries.Path("kube-proxy"), "--kubeconfig="+h.file("admin.conf"), "--hostname-override="+n.name,
		"--proxy-mode=nftables", "--cluster-cidr=10.244.0.0/16", "--conntrack-max-per-core=0",
		"--conntrack-tcp-timeout-established=0s", "--conntrack-tcp-timeout-close-wait=0s"))
}

func nodeName(number int) string { return fmt.Sprintf("hand-%d", number) }

// linkOf is the host's end of a node's link.
func linkOf(node string) string { return "kqbench-" + node }

// namespaces starts the process that holds them.
func (n *handNode) namespaces(ctx context.Context) error {
	outer := exec.Command("unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc", "sleep", "infinity")
	if err := n.start(outer); err != nil {
		return err
	}
	children := fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", outer.Process.Pid)
	return await(ctx, func() (bool, error) {
		data, err := os.ReadFile(children)
		if err != nil || len(strings.Fields(string(data))) == 0 {
			return false, err
		}
		if n.holder, err = strconv.Atoi(strings.Fields(string(data))[0]); err != nil {
			return false, err
		}
		mounted, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", n.holder))
		return err == nil && string(mounted) == "sleep\n", nil
	})
}

// within is a program that is to run in the node.
func (n *handNode) within(program string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--target", strconv.Itoa(n.holder), "--mount", "--net", "--pid", "--uts", "--ipc", "--", program}, args...)...)
}

func (n *handNode) network(ctx context.Context) error {
	host, inside := linkOf(n.name), "eth0"
	for _, args := range [][]string{
		{"link", "add", host, "type", "veth", "peer", "name", inside, "netns", strconv.Itoa(n.holder)},
		{"link", "set", host, "master", handBridge, "up"},
	} {
		if err := command(ctx, "ip", args...); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"mount", "-t", "tmpfs", "tmpfs", "/run"},
		{"ip", "link", "set", "lo", "up"},
		{"ip", "addr", "add", n.address + "/24", "dev", inside},
		{"ip", "link", "set", inside, "up"},
		{"ip", "route", "add", "default", "via", handHost},
		{"sysctl", "-q", "net.ipv4.ip_forward=1"},
	} {
		cmd := n.within(args[0], args[1:]...)
		if err := command(ctx, cmd.Path, cmd.Args[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// containerd starts it and gives it the images.
func (n *handNode) containerd(ctx context.Context) error {
	socket := n.socket()
	images := n.parts.Images()
	config := fmt.Sprintf(`version = 3
root = %q
state = %q
[grpc]
  address = %q
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = %q
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = [%q]
  conf_dir = %q
  conf_template = %q
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  runtime_path = %q
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  BinaryName = %q
`, filepath.Join(n.dir, "root"), filepath.Join(n.dir, "state"), socket, images[0].Name, n.parts.CNI(),
		filepath.Join(n.dir, "cni"), filepath.Join(n.dir, "cni.template"), n.parts.Program("containerd-shim-runc-v2"), n.parts.Program("runc"))
	template := `{"cniVersion": "1.0.0", "name": "bench", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true,
"ipMasqBackend": "nftables", "ipam": {"type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": "{{.PodCIDR}}"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}`
	for name, text := range map[string]string{"containerd.toml": config, "cni.template": template} {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := n.start(n.within(n.parts.Program("containerd"), "--config", filepath.Join(n.dir, "containerd.toml"))); err != nil {
		return err
	}
	err := await(ctx, func() (bool, error) {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return false, nil //nolint:nilerr // it is not there yet
		}
		return true, conn.Close()
	})
	if err != nil {
		return err
	}
	for _, image := range images {
		if err := n.load(ctx, image); err != nil {
			return err
		}
	}
	return nil
}

func (n *handNode) load(ctx context.Context, image release.Image) error {
	cmd := n.within(n.parts.Program("ctr"), "--address", n.socket(), "--namespace", "k8s.io", "images", "import", "--local", image.Archive)
	return command(ctx, cmd.Path, cmd.Args[1:]...)
}

func (n *handNode) socket() string { return filepath.Join(n.dir, "containerd.sock") }

func (n *handNode) kubelet(ctx context.Context) error {
	err := command(ctx, n.binaries.Path("kubeadm"), "init", "phase", "kubeconfig", "kubelet", "--kubeconfig-dir", n.dir, "--cert-dir", n.file("pki"),
		"--node-name", n.name, "--apiserver-advertise-address", handHost, "--apiserver-bind-port", strconv.Itoa(n.port))
	if err != nil {
		return err
	}
	// Without cgroups of its own nothing of it stays in the host's.
	config := fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %s}}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix://%s
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failCgroupV1: false
`, n.file("pki/ca.crt"), n.socket())
	file := filepath.Join(n.dir, "kubelet.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	return n.start(n.within(n.binaries.Path("kubelet"), "--config="+file, "--kubeconfig="+filepath.Join(n.dir, "kubelet.conf"),
		"--root-dir="+filepath.Join(n.dir, "kubelet"), "--cert-dir="+filepath.Join(n.dir, "kubelet-pki"), "--hostname-override="+n.name, "--node-ip="+n.address))
}
