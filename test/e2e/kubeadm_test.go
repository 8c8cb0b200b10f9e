//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// kubeadmMachine is a machine of the user's own, with containerd and a kubelet that waits for kubeadm.
type kubeadmMachine struct {
	*box
	parts parts
	bare  bool // it has no CNI plugins and no network configuration
}

// parts are paths of what a machine is made of.
type parts struct {
	bin, cni string
	pause    string // the image of every pod's first container
	archives []string
}

func partsOf(t *testing.T) parts {
	t.Helper()
	built, err := controlplanetest.NodeParts(t.Context())
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

// kubeadmMachine returns a machine that does not run yet.
func (i *installation) kubeadmMachine() *kubeadmMachine {
	i.t.Helper()
	b := &kubeadmMachine{box: i.lan().box(), parts: partsOf(i.t)}
	b.cgroup = b.link
	return b
}

// boot starts the machine under the name that its node will have.
func (b *kubeadmMachine) boot(node string) {
	b.t.Helper()
	b.makeCgroups()
	b.write("containerd.toml", b.containerdConfig())
	if !b.bare {
		b.write("cni.conflist", cniConfig)
	}
	b.write("patches/kubeletconfiguration+merge.json", b.kubeletPatch())
	b.start("kubeadm.sh", node, "PROGRAMS="+b.parts.bin, "KUBERNETES="+programs.node)
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

// join runs the printed line. Only what this host is like is added to it: it is no machine with systemd, and
// may have cgroups of version 1.
func (b *kubeadmMachine) join(line string) {
	b.t.Helper()
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "kubeadm" || words[1] != "join" {
		b.t.Fatalf("the command is %q", line)
	}
	words[0] = filepath.Join(programs.node, "kubeadm")
	words = append(words, "--ignore-preflight-errors=all", "--patches", filepath.Join(b.dir, "patches"))
	if r := b.within(words...); r.code != 0 {
		b.t.Fatalf("kubeadm join: exit code %d:\n%s\n%s", r.code, r.stdout, r.stderr)
	}
}

// cniConfig is the network of this user: a bridge on the one node.
const cniConfig = `{
  "cniVersion": "1.0.0", "name": "own",
  "plugins": [{
    "type": "bridge", "bridge": "cni0", "isGateway": true, "isDefaultGateway": true,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.0.0/24"}]]}
  }]
}
`

// containerdConfig is for a machine without a registry, on a host that may not lower the OOM score.
func (b *kubeadmMachine) containerdConfig() string {
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
func (b *kubeadmMachine) kubeletPatch() string {
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

// makeCgroups makes what the kubelet wants to find. With version 1 nothing can enter a cpuset without
// processors, with version 2 there are no controllers until they are asked for.
func (b *kubeadmMachine) makeCgroups() {
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
