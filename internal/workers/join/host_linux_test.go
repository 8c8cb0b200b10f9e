package join

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/workers/node"
)

func TestHostCheck(t *testing.T) {
	good := Host{Root: true, Cgroups: cgroupsV2, ProxyMode: "nftables"}
	cases := map[string]struct {
		change func(*Host)
		want   []string
	}{
		"good":               {func(*Host) {}, nil},
		"good, of version 1": {func(h *Host) { h.Cgroups = cgroupsV1 }, nil},
		"not root":           {func(h *Host) { h.Root = false }, []string{"only root"}},
		"not root, and swap": {func(h *Host) { h.Root, h.Swap = false, []string{"/swap"} }, []string{"only root"}},
		"no cgroups":         {func(h *Host) { h.Cgroups = "" }, []string{"no cgroups"}},
		"swap":               {func(h *Host) { h.Swap = []string{"/dev/sda2"} }, []string{"(/dev/sda2)", "swapoff -a"}},
		"one port":           {func(h *Host) { h.Taken = []int{10250} }, []string{"on port 10250, which"}},
		"two ports":          {func(h *Host) { h.Taken = []int{10250, 10256} }, []string{"on ports 10250, 10256, which"}},
		"no tools":           {func(h *Host) { h.ProxyMode = "" }, []string{"packages nftables and iptables"}},
		"no mount":           {func(h *Host) { h.Missing = []string{"mount"} }, []string{"mount is not in PATH"}},
		"another's node":     {func(h *Host) { h.Foreign = []string{"/a", "/b"} }, []string{"/a, /b are there", "kubeadm reset"}},
		"several things":     {func(h *Host) { h.Taken, h.Swap = []int{10250}, []string{"/swap"} }, []string{"port 10250", "/swap"}},
	}
	for name, c := range cases {
		h := good
		c.change(&h)
		err := h.Check()
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: got %v, want %q", name, err, w)
			}
		}
	}
}

func TestSwapsOf(t *testing.T) {
	text := "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/sda2                               partition\t8388604\t\t0\t\t-2\n/swap file\n"
	if diff := cmp.Diff([]string{"/dev/sda2", "/swap"}, swapsOf(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, none := range []string{"", "Filename\tType\n"} {
		if got := swapsOf(none); got != nil {
			t.Errorf("%q: %v", none, got)
		}
	}
}

func TestResolvers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	plain := write("plain", "search a.example\nnameserver 10.0.0.1\n")
	stub := write("stub", "nameserver 127.0.0.53\n")
	mixed := write("mixed", "nameserver 127.0.0.1\nnameserver 10.0.0.2\n")
	missing := filepath.Join(dir, "missing")
	cases := map[string]struct {
		files         []string
		file, servers string
	}{
		"all are reached":             {[]string{plain, missing}, plain, "nameserver 10.0.0.1\n"},
		"the machine asks itself":     {[]string{stub, plain}, plain, "nameserver 10.0.0.1\n"},
		"some are reached":            {[]string{mixed, missing}, "", "nameserver 10.0.0.2\n"},
		"no server but the machine":   {[]string{stub, missing}, "", node.NoServers},
		"no file, no servers at all":  {[]string{missing}, "", node.NoServers},
		"the better one comes second": {[]string{mixed, plain}, plain, "nameserver 10.0.0.2\n"},
	}
	for name, c := range cases {
		if file, servers := resolvers(c.files...); file != c.file || servers != c.servers {
			t.Errorf("%s: got %q with %q, want %q with %q", name, file, servers, c.file, c.servers)
		}
	}
}
