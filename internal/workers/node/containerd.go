package node

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
)

// Containerd is what a machine's containerd is configured by.
type Containerd struct {
	// Root is its directory, State that of what a start of the machine clears, Socket where it listens.
	Root, State, Socket string
	// Parts are its programs and images.
	Parts release.NodeParts
	// Pause is the image of every pod's first container; empty for the one among the parts.
	Pause string
	// KeepOOM says that programs may not protect themselves from being killed for memory.
	KeepOOM bool
	// NoKeyrings says that containers get no keyring of their own: the kernel lets a user who is not root have 200 keys.
	NoKeyrings bool
	// CNIBin are the folders in which network plugins are looked for, in this order.
	CNIBin []string
	// Template is a file that becomes the network's configuration once the node's range is known; empty when
	// something else writes that.
	Template string
	// Apart says that another containerd may run on the machine: nothing is shared with it.
	Apart bool
}

// Config is in containerd 2's own notation. On a busy host a shim takes longer to answer than containerd's own timeouts allow: after 2 s an exec fails,
// and after 5 s, when containerd starts again, a container is taken to be dead, and killed.
func (c Containerd) Config() string {
	template, keyrings, bins := "", "", make([]string, 0, len(c.CNIBin))
	if c.NoKeyrings {
		keyrings = "  NoNewKeyring = true\n"
	}
	if c.Template != "" {
		template = fmt.Sprintf("  conf_template = %q\n", c.Template)
	}
	for _, dir := range c.CNIBin {
		bins = append(bins, strconv.Quote(dir))
	}
	text := fmt.Sprintf(`version = 3
root = %q
state = %q

[grpc]
  address = %q

[timeouts]
  'io.containerd.timeout.shim.load' = '15s'
  'io.containerd.timeout.task.state' = '10s'

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = %q

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = %t

[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = [%s]
  conf_dir = "/etc/cni/net.d"
%s
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  runtime_path = %q

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  BinaryName = %q
  SystemdCgroup = false
%s`, c.Root, c.State, c.Socket, cmp.Or(c.Pause, pauseOf(c.Parts)), c.KeepOOM, strings.Join(bins, ", "), template,
		c.Parts.Program("containerd-shim-runc-v2"), c.Parts.Program("runc"), keyrings)
	if c.Apart {
		text += c.apart()
	}
	return text
}

// apart moves or switches off what has one place for all containerds of a machine.
func (c Containerd) apart() string {
	return fmt.Sprintf(`
[plugins.'io.containerd.internal.v1.opt']
  path = %q

[plugins.'io.containerd.nri.v1.nri']
  disable = true
`, c.Root+"/opt")
}

// ImagesFor are those that a machine of a cluster with that CNI is given. Flannel's is as large as all others together,
// and most clusters have no use for it.
func ImagesFor(cni string, all []release.Image) []release.Image {
	return slices.DeleteFunc(slices.Clone(all), func(i release.Image) bool {
		return strings.Contains(i.Name, "/flannel:") && !strings.EqualFold(cni, v1alpha1.CNIFlannel)
	})
}

// pauseOf is the image of every pod's first container; empty when the parts have none.
func pauseOf(parts release.NodeParts) string {
	for _, image := range parts.Images() {
		if strings.Contains(image.Name, "/pause:") {
			return image.Name
		}
	}
	return ""
}
