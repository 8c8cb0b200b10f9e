//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"kqueen.io/kqueen/internal/testplane"
)

// brought is a machine that somebody brings: process 1 of namespaces of its own, with a link to the host.
type brought struct {
	*installation
	gateway, address netip.Addr // the host's end of the link, and the machine's
	link             string
	dir, cgroup      string
	parts            parts
	bare             bool // it has no CNI plugins and no network configuration
	init             *exec.Cmd
	in               io.WriteCloser // while it is open, the machine runs
}

// parts are paths of what a machine is made of.
type parts struct {
	bin, cni string
	pause    string // the image of every pod's first container
	archives []string
}

func partsOf(t *testing.T) parts {
	t.Helper()
	built, err := testplane.NodeParts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := parts{bin: filepath.Dir(built.Program("containerd")), cni: built.CNI()}
	for _, image := range built.Images() {
		p.archives = append(p.archives, image.Archive)
		if strings.Contains(image.Name, "/pause:") {
			p.pause = image.Name
		}
	}
	return p
}

// bring makes the link to a machine that is not there yet.
func (i *installation) bring() *brought {
	i.t.Helper()
	id := rand.IntN(250)
	net4 := func(host byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 221, byte(id), host}) }
	b := &brought{
		installation: i, parts: partsOf(i.t), gateway: net4(1), address: net4(2), link: fmt.Sprintf("kqe2e%d", id),
		dir: filepath.Join(i.base, "brought"), cgroup: fmt.Sprintf("kqe2e%d", id),
	}
	i.t.Cleanup(b.end)
	attrs := netlink.NewLinkAttrs()
	attrs.Name = b.link
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: b.link + "p"}
	if err := netlink.LinkAdd(pair); err != nil {
		i.t.Fatal(err)
	}
	host := &netlink.Addr{IPNet: &net.IPNet{IP: b.gateway.AsSlice(), Mask: net.CIDRMask(30, 32)}}
	if err := errors.Join(netlink.AddrAdd(pair, host), netlink.LinkSetUp(pair)); err != nil {
		i.t.Fatal(err)
	}
	return b
}

// end takes the machine away, with all that runs in it.
func (b *brought) end() {
	if b.init != nil {
		if b.t.Failed() {
			b.logs()
		}
		_ = b.init.Process.Kill() // with process 1 of its namespace every process ends
		_ = b.init.Wait()         // it was killed
	}
	if link, err := netlink.LinkByName(b.link); err == nil {
		if err := netlink.LinkDel(link); err != nil {
			b.t.Errorf("remove the link: %v", err)
		}
	}
	b.removeCgroups()
}

// boot starts the machine under the name that its node will have.
func (b *brought) boot(node string) {
	b.t.Helper()
	b.makeCgroups()
	b.write("containerd.toml", b.containerdConfig())
	if !b.bare {
		b.write("cni.conflist", cniOfBrought)
	}
	b.write("patches/kubeletconfiguration+merge.json", b.kubeletPatch())
	script, err := filepath.Abs(filepath.Join("testdata", "workers", "brought.sh"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.init = exec.Command("/bin/sh", script)
	b.init.Dir = "/"
	b.init.Env = []string{
		"PATH=" + os.Getenv("PATH"), "DIR=" + b.dir, "ADDRESS=" + b.address.String(), "GATEWAY=" + b.gateway.String(), "NODE=" + node, "LINK=" + b.link + "p",
		"PROGRAMS=" + b.parts.bin, "KUBERNETES=" + filepath.Join(b.releases, programs.version),
	}
	b.init.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	}
	log, err := os.Create(filepath.Join(b.dir, "init.log"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer log.Close()
	b.init.Stdout, b.init.Stderr = log, log
	if b.in, err = b.init.StdinPipe(); err != nil {
		b.t.Fatal(err)
	}
	if err := b.init.Start(); err != nil {
		b.init = nil
		b.t.Fatal(err)
	}
	peer, err := netlink.LinkByName(b.link + "p")
	if err == nil {
		err = netlink.LinkSetNsPid(peer, b.init.Process.Pid)
	}
	if err == nil {
		_, err = io.WriteString(b.in, "go\n")
	}
	if err != nil {
		b.t.Fatal(err)
	}
	ctr := []string{filepath.Join(b.parts.bin, "ctr"), "--namespace", "k8s.io"}
	eventually(b.t, "containerd answers", func(context.Context) error {
		if r := b.within(append(ctr, "version")...); r.code != 0 {
			return errors.New(r.stderr)
		}
		return nil
	})
	for _, archive := range b.parts.archives {
		if r := b.within(append(ctr, "images", "import", "--local", archive)...); r.code != 0 {
			b.t.Fatalf("import %s: %s", archive, r.stderr)
		}
	}
}

// within runs a command in the machine.
func (b *brought) within(command ...string) result {
	b.t.Helper()
	args := []string{"--target", strconv.Itoa(b.init.Process.Pid), "--pid", "--mount", "--net", "--uts", "--ipc", "--"}
	return b.run(b.command("nsenter", append(args, command...)...))
}

// join runs the printed line. Only what this host is like is added to it: it is no machine with systemd, and
// may have cgroups of version 1.
func (b *brought) join(line string) {
	b.t.Helper()
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "kubeadm" || words[1] != "join" {
		b.t.Fatalf("the command is %q", line)
	}
	words[0] = filepath.Join(b.releases, programs.version, "kubeadm")
	words = append(words, "--ignore-preflight-errors=all", "--patches", filepath.Join(b.dir, "patches"))
	if r := b.within(words...); r.code != 0 {
		b.t.Fatalf("kubeadm join: exit code %d:\n%s\n%s", r.code, r.stdout, r.stderr)
	}
}

func (b *brought) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		b.t.Fatal(err)
	}
}

// logs shows what the machine said last.
func (b *brought) logs() {
	for _, name := range []string{"init.log", "containerd.log", "kubelet.log"} {
		if data, err := os.ReadFile(filepath.Join(b.dir, name)); err == nil {
			b.t.Logf("the end of %s:\n%s", name, data[max(0, len(data)-4<<10):])
		}
	}
}

// cniOfBrought is the network that this user brings: a bridge on the one node.
const cniOfBrought = `{
  "cniVersion": "1.0.0", "name": "brought",
  "plugins": [{
    "type": "bridge", "bridge": "cni0", "isGateway": true, "isDefaultGateway": true,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.0.0/24"}]]}
  }]
}
`

// containerdConfig is for a machine without a registry, on a host that may not lower the OOM score.
func (b *brought) containerdConfig() string {
	plugins := b.parts.cni
	if b.bare {
		plugins = "/opt/cni/bin"
	}
	return fmt.Sprintf(`version = 3

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = %q

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = [%q]

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  BinaryName = %q
  SystemdCgroup = false
`, b.parts.pause, plugins, filepath.Join(b.parts.bin, "runc"))
}

// kubeletPatch keeps the kubelet in cgroups of its own, beside those of whatever else runs on this host.
func (b *brought) kubeletPatch() string {
	patch, err := json.Marshal(map[string]any{
		"failCgroupV1": false, "cgroupDriver": "cgroupfs", "cgroupRoot": "/" + b.cgroup,
		"evictionHard":                map[string]string{"nodefs.available": "512Mi", "imagefs.available": "512Mi"},
		"imageGCHighThresholdPercent": 100,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return string(patch)
}

const cgroupRoot = "/sys/fs/cgroup"

// unified says that the host has cgroups of version 2 alone.
func unified() bool {
	_, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers"))
	return err == nil
}

// cgroups are the directories of the machine's cgroup: one, or one for each controller of version 1.
func (b *brought) cgroups() []string {
	if unified() {
		return []string{filepath.Join(cgroupRoot, b.cgroup)}
	}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		b.t.Fatal(err)
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() { // "cpu" beside "cpu,cpuacct" is a link to it
			dirs = append(dirs, filepath.Join(cgroupRoot, e.Name(), b.cgroup))
		}
	}
	return dirs
}

// makeCgroups makes what the kubelet wants to find. With version 1 nothing can enter a cpuset without
// processors, with version 2 there are no controllers until they are asked for.
func (b *brought) makeCgroups() {
	b.t.Helper()
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0); err != nil {
			b.t.Fatal(err)
		}
	}
	for _, dir := range b.cgroups() {
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.t.Fatal(err)
		}
		if unified() {
			write(filepath.Join(cgroupRoot, "cgroup.subtree_control"), "+cpu +memory +pids")
			write(filepath.Join(dir, "cgroup.subtree_control"), "+cpu +memory +pids")
			continue
		}
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			if data, err := os.ReadFile(filepath.Join(filepath.Dir(dir), name)); err == nil {
				write(filepath.Join(dir, name), string(data))
			}
		}
	}
}

// removeCgroups waits until the kernel has let go of the processes that were killed.
func (b *brought) removeCgroups() {
	again := time.NewTicker(look)
	defer again.Stop()
	for begin := time.Now(); ; <-again.C {
		var err error
		for _, dir := range b.cgroups() {
			err = errors.Join(err, removeDirs(dir))
		}
		if err == nil {
			return
		}
		if time.Since(begin) > 10*time.Second {
			b.t.Errorf("cgroups are left: %v", err)
			return
		}
	}
}

// removeDirs removes directories only: the files in a cgroup are no files.
func removeDirs(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeDirs(filepath.Join(dir, e.Name())))
		}
	}
	if err == nil {
		err = syscall.Rmdir(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
