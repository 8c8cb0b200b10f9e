//go:build linux

package local

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/supervise/supervisetest"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/machine/local/guest"
	"kqueen.io/kqueen/internal/workers/node"
)

var update = flag.Bool("update", false, "write the golden files")

func TestChoose(t *testing.T) {
	whole := netip.MustParsePrefix("10.223.0.0/16")
	small := netip.MustParsePrefix("10.223.4.0/23") // two subnets
	one := netip.MustParsePrefix("10.223.4.0/24")
	at := func(cluster types.UID, address string) record {
		return record{Cluster: cluster, Address: netip.MustParsePrefix(address)}
	}
	full := map[types.UID]record{}
	for i := range 253 {
		full[types.UID(rune(i))] = record{Cluster: "a", Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 223, 4, byte(2 + i)}), 24)}
	}
	cases := map[string]struct {
		reason  string
		from    netip.Prefix
		records map[types.UID]record
		inUse   []string
		want    string
		problem string
	}{
		"second machine":        {"a cluster has one subnet", whole, map[types.UID]record{"m": at("a", "10.223.7.2/24")}, nil, "10.223.7.3/24", ""},
		"gap":                   {"addresses are used again", whole, map[types.UID]record{"m": at("a", "10.223.7.3/24")}, nil, "10.223.7.2/24", ""},
		"own bridge is in use":  {"it was free when it was chosen", whole, map[types.UID]record{"m": at("a", "10.223.7.2/24")}, []string{"10.223.7.0/24"}, "10.223.7.3/24", ""},
		"other cluster's":       {"clusters share no subnet", small, map[types.UID]record{"m": at("b", "10.223.4.2/24")}, nil, "10.223.5.2/24", ""},
		"host's":                {"the host's networks stay reachable", small, nil, []string{"10.223.4.128/25"}, "10.223.5.2/24", ""},
		"wider network in use":  {"a subnet of a network in use is in use", small, nil, []string{"10.0.0.0/8"}, "", "--machine-network"},
		"all subnets are taken": {"the error says what helps", small, map[types.UID]record{"m": at("b", "10.223.4.2/24"), "n": at("c", "10.223.5.2/24")}, nil, "", "--machine-network"},
		"range of one subnet":   {"it is the first cluster's", one, nil, nil, "10.223.4.2/24", ""},
		"no subnet for another": {"clusters share no subnet", one, map[types.UID]record{"m": at("b", "10.223.4.2/24")}, nil, "", "--machine-network"},
		"range was changed":     {"a cluster keeps its subnet", one, map[types.UID]record{"m": at("a", "10.9.7.2/24")}, nil, "10.9.7.3/24", ""},
		"subnet is full":        {"the last address is the broadcast's", small, full, nil, "", "at most 222"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var inUse []netip.Prefix
			for _, p := range c.inUse {
				inUse = append(inUse, netip.MustParsePrefix(p))
			}
			got, err := choose(c.from, "a", c.records, inUse)
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Fatalf("%s: got %v, %v, want an error with %q", c.reason, got, err, c.problem)
				}
				return
			}
			if err != nil || got.String() != c.want {
				t.Errorf("%s: got %v, %v, want %s", c.reason, got, err, c.want)
			}
		})
	}
}

// TestChooseSpreads: two installations on one host do not know each other's choice at first.
func TestChooseSpreads(t *testing.T) {
	seen := map[netip.Prefix]bool{}
	for _, cluster := range []types.UID{"a", "b", "c", "d"} {
		got, err := choose(netip.MustParsePrefix("10.223.0.0/16"), cluster, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen[got] = true
	}
	if len(seen) < 2 {
		t.Errorf("four clusters of four installations begin with the same subnet: %v", seen)
	}
}

// exampleDescription is of a machine on a host that listens to itself.
func exampleDescription() description {
	return description{
		Desired: machine.Desired{
			Target:  machine.Target{Ref: machine.Ref{UID: "11111111-1111-1111-1111-111111111111", Cluster: "22222222-2222-2222-2222-222222222222", Name: "pool-abcde"}},
			Version: "v1.36.3", Token: "abcdef.0123456789abcdef",
			Taints: []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}},
			Cluster: machine.Cluster{
				Organization: "acme", Name: "demo", Server: "192.0.2.1:20001", CA: []byte("CA\n"), DNS: netip.MustParseAddr("10.96.0.10"), DNSDomain: "cluster.local", CNI: v1alpha1.CNIRoutes,
				PodCIDR: netip.MustParsePrefix("10.244.0.0/16"), ServiceCIDR: netip.MustParsePrefix("10.96.0.0/16"),
			},
			Peers: []machine.Peer{
				{Address: netip.MustParseAddr("10.223.7.4"), PodCIDR: netip.MustParsePrefix("10.244.2.0/24")},
				{Address: netip.MustParseAddr("10.223.7.3"), PodCIDR: netip.MustParsePrefix("10.244.1.0/24")},
			},
		},
		record: record{Cluster: "22222222-2222-2222-2222-222222222222", Address: netip.MustParsePrefix("10.223.7.2/24"), Parts: "/parts", Program: "/usr/bin/kqueen", Masquerades: true,
			Isolation: machine.IsolationUserNamespace, IDs: &guest.IDs{First: 524288, Count: 65536}},
		facts:   facts{root: true, proxyMode: "nftables", resolvConf: node.NoServers},
		trusted: []byte("CA\n"),
		dir:     "/data/machine", images: "/data/images", addonsDir: "/releases/addons",
		parts:    release.NodeParts{Dir: "/parts", Idles: true},
		binaries: release.Binaries{Dir: "/releases/v1.36.3", Components: map[string]release.Component{"kubelet": {}, "kube-proxy": {}}},
		listen:   netip.MustParseAddr("127.0.0.1"),
	}
}

// TestDescribe shows everything that runs for a machine.
func TestDescribe(t *testing.T) {
	d := exampleDescription()
	compare(t, "loopback", d)
	d.record.Isolation, d.record.IDs, d.record.Reason = machine.IsolationOwnRoot, nil, "the kernel refuses"
	d.listen, d.Token, d.Cluster.CNI, d.facts.mayLowerOOM = netip.MustParseAddr("198.51.100.7"), "", v1alpha1.CNIFlannel, true
	d.Cluster.Server = "198.51.100.7:20001"
	d.hostPorts.First, d.hostPorts.Last = 20000, 29999
	d.facts.size, d.Size = machine.Size{MilliCPU: 8000, Memory: 32 << 30}, machine.Size{MilliCPU: 1500, Memory: 4 << 30}
	d.addons = release.AddonImages{Dir: "/releases/addons/node-0123456789ab"}
	compare(t, "reachable", d)
}

func TestSizes(t *testing.T) {
	f := facts{size: machine.Size{MilliCPU: 4000, Memory: 8 << 30}}
	tests := map[string]struct {
		size     machine.Size
		reserved map[string]string
		problem  string
	}{
		"not bounded":     {machine.Size{}, nil, ""},
		"smaller":         {machine.Size{MilliCPU: 1500, Memory: 3 << 30}, map[string]string{"cpu": "2500m", "memory": "5Gi"}, ""},
		"processors":      {machine.Size{MilliCPU: 1000}, map[string]string{"cpu": "3"}, ""},
		"all of the host": {machine.Size{MilliCPU: 4000, Memory: 8 << 30}, nil, ""},
		"too many":        {machine.Size{MilliCPU: 4001}, nil, "spec.resources.cpu: is more than this host has; choose at most 4"},
		"too much":        {machine.Size{Memory: 8<<30 + 1}, nil, "spec.resources.memory: is more than this host has; choose at most 8Gi"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.reserved, f.reserved(tc.size)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			problem := ""
			if err := f.fits(tc.size); err != nil {
				problem = err.Error()
			}
			if problem != tc.problem {
				t.Errorf("got %q, want %q", problem, tc.problem)
			}
		})
	}
}

// TestPause: what the user chose is what containerd starts.
func TestPause(t *testing.T) {
	d := description{pauseImage: "registry.example/pause:1"}
	if config := d.containerdConfig(); !strings.Contains(config, `sandbox = "registry.example/pause:1"`) {
		t.Errorf("containerd is told:\n%s", config)
	}
}

func compare(t *testing.T, name string, d description) {
	t.Helper()
	w, err := describe(d)
	if err != nil {
		t.Fatal(err)
	}
	text := supervisetest.Text(t, w)
	golden := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got); -update writes it:\n%s", name, diff)
	}
}
