package join

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMountPoints(t *testing.T) {
	text := `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
398 412 254:0 /lib/kubelet /var/lib/kubelet rw,relatime shared:13 - ext4 /dev/vda rw
40 30 0:40 / /var/lib/kubelet/pods/a\040b\134c rw - tmpfs tmpfs rw
broken line
`
	if diff := cmp.Diff([]string{"/", "/var/lib/kubelet", `/var/lib/kubelet/pods/a b\c`}, mountPoints(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithin(t *testing.T) {
	all := []string{"/", "/data", "/data/node", "/data/node/a", "/data/nodes", "/data/node/a", "/run/x"}
	cases := map[string]struct {
		paths, before, want []string
	}{
		"on it and below":         {[]string{"/data/node"}, nil, []string{"/data/node", "/data/node/a", "/data/node/a"}},
		"a name that begins so":   {[]string{"/data/no"}, nil, []string{}},
		"a disk that was there":   {[]string{"/data/node"}, []string{"/data/node"}, []string{"/data/node/a", "/data/node/a"}},
		"nothing":                 {nil, nil, []string{}},
		"several, in their order": {[]string{"/run/x", "/data/node/a"}, nil, []string{"/data/node/a", "/data/node/a", "/run/x"}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, within(all, c.paths, c.before)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOutermost(t *testing.T) {
	got := outermost([]string{"/etc/cni/net.d", "/opt/cni/bin/a", "/etc/cni", "/opt/cni/bin/a", "/etc/cnix"})
	if diff := cmp.Diff([]string{"/etc/cni", "/etc/cnix", "/opt/cni/bin/a"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAdded: what was on the machine stays, also in folders into which the node's programs write.
func TestAdded(t *testing.T) {
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	for _, folder := range []string{"net.d", "gone", "new", "new/deeper"} {
		if err := os.Mkdir(at(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"net.d/10-old", "net.d/20-ours"} {
		if err := os.WriteFile(at(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := Before{Folders: map[string][]string{at("net.d"): {"10-old", "15-removed"}, at("gone"): {}}}
	got, err := b.added([]string{at("new", "deeper"), at("new"), at("net.d"), at("gone"), at("missing")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{at("net.d", "20-ours"), at("new")}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
