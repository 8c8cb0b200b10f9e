package join

import (
	"cmp"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/cis"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/supervise/supervisetest"
	"kqueen.io/kqueen/internal/workers/node"
)

var update = flag.Bool("update", false, "write the golden files")

// exampleDescription is of a machine that has no identity yet.
func exampleDescription() description {
	version, err := release.ParseVersion("v1.36.3")
	if err != nil {
		panic(err)
	}
	return description{
		record: Record{
			Node: "hand-x7k2f", Address: netip.MustParseAddr("198.51.100.20"), Token: goodToken,
			Cluster: Cluster{
				Server: "198.51.100.7:20001", CA: []byte("CA\n"), Version: "v1.36.3",
				PodCIDR: netip.MustParsePrefix("10.244.0.0/16"), DNS: netip.MustParseAddr("10.96.0.10"), DNSDomain: "cluster.local",
			},
		},
		trusted: []byte("CA\n"),
		place:   DefaultDir, dir: DefaultDir + "/workloads/node", program: "/usr/bin/kqueen",
		host:     Host{ProxyMode: "nftables", servers: "nameserver 10.0.0.1\n"},
		parts:    release.NodeParts{Dir: "/parts"},
		binaries: release.Binaries{Version: version, Dir: "/releases/v1.36.3", Components: map[string]release.Component{"kubelet": {SHA256: "5e55"}, "kube-proxy": {SHA256: "a110"}}},
	}
}

// TestDescribe shows everything that runs on a machine: before it has an identity, and after.
func TestDescribe(t *testing.T) {
	d := exampleDescription()
	compare(t, "joining", d)
	d.record.Token, d.host.mayLowerOOM, d.host.resolvConf = "", true, "/etc/resolv.conf"
	d.record.Address = netip.MustParseAddr("2001:db8::20")
	compare(t, "joined", d)
	alone, err := d.runtimeAlone()
	if err != nil || len(alone.Components) != 1 || alone.Components[0].Name != node.ComponentContainerd {
		t.Errorf("while pods are stopped %+v runs, %v", alone.Components, err)
	}
}

// TestMovedProgramsRunOn: kqueen and the folders of programs can lie elsewhere, and another kubelet or kube-proxy in the same place is
// another program.
func TestMovedProgramsRunOn(t *testing.T) {
	ids := func(change func(*description)) map[string][]string {
		d := exampleDescription()
		change(&d)
		w, err := d.describe()
		if err != nil {
			t.Fatal(err)
		}
		all := map[string][]string{}
		for _, c := range w.Components {
			id := []string{c.Build}
			for _, arg := range c.Args {
				id = append(id, cmp.Or(c.Moves[arg], arg))
			}
			all[c.Name] = id
		}
		delete(all, node.ComponentContainerd) // its configuration names the folder of its parts
		return all
	}
	as := ids(func(*description) {})
	moved := ids(func(d *description) {
		d.program, d.parts.Dir, d.binaries.Dir = "/opt/kqueen", "/elsewhere", "/new/v1.36.3"
	})
	if diff := gocmp.Diff(as, moved); diff != "" {
		t.Errorf("after a move (-want +got):\n%s", diff)
	}
	for program, component := range map[string]string{"kubelet": node.ComponentKubelet, "kube-proxy": node.ComponentProxy} {
		rebuilt := ids(func(d *description) { d.binaries.Components[program] = release.Component{SHA256: "0ther"} })
		for name := range as {
			if same := slices.Equal(as[name], rebuilt[name]); same != (name != component) {
				t.Errorf("after a new build of %s, %s is the same: %t", program, name, same)
			}
		}
	}
}

func compare(t *testing.T, name string, d description) {
	t.Helper()
	w, err := d.describe()
	if err != nil {
		t.Fatal(err)
	}
	text := supervisetest.Text(t, w)
	golden := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got); -update writes it:\n%s", name, diff)
	}
}

// TestBenchmark: a machine that joins is as the CIS Kubernetes Benchmark asks for, but for the item of which docs/development/cis.md says so.
func TestBenchmark(t *testing.T) {
	d := exampleDescription()
	w, err := d.describe()
	if err != nil {
		t.Fatal(err)
	}
	f := cis.Found{Programs: map[string]cis.Program{}, Files: map[string]cis.File{node.KubeletKubeconfig: {Mode: 0o600}}}
	for _, c := range w.Components {
		f.Programs[c.Name] = cis.Program{Args: c.Args}
	}
	for name, file := range w.Files {
		mode := file.Mode
		if mode == 0 {
			mode = 0o600
		}
		f.Files[filepath.Join(d.dir, name)] = cis.File{Mode: mode, Data: file.Data}
	}
	var problems []string
	for _, r := range cis.CheckNode(f) {
		if r.Problem != nil {
			problems = append(problems, r.Number)
		}
	}
	if !slices.Equal(problems, []string{"4.2.6"}) {
		t.Errorf("the benchmark asks for more in %q", problems)
	}
}
