package addons

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/kube"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// testCA is a certificate whose key is lost. It ends in a hundred years.
const testCA = `-----BEGIN CERTIFICATE-----
MIIBezCCASGgAwIBAgIUc0Maazb2CtEKg890nnb/LbW8OMQwCgYIKoZIzj0EAwIw
EjEQMA4GA1UEAwwHdGVzdC1jYTAgFw0yNjExMjExMTE1MTlaGA8yMTI2MTAyODEx
MTUxOVowEjEQMA4GA1UEAwwHdGVzdC1jYTBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABHUcpvHCgKSZ4kSsTwMFNHFjmL8CzKrUoC7tPoe8GkPwz2G9Zbhq+ychNocL
HAaGht9viOSuJWomHh3co66lP/GjUzBRMB0GA1UdDgQWBBTIr4qlicbK/eTu6Usa
tLgyQEYE5jAfBgNVHSMEGDAWgBTIr4qlicbK/eTu6UsatLgyQEYE5jAPBgNVHRMB
Af8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCID7A+JGS7ggmZpxGCM9Wsu/4Z3n5
RWZXb4qDZaK9VSRXAiEAg+eeXqSPz9vygvfZeIwJzW3jWMHhD0bMTZkDME1kjjE=
-----END CERTIFICATE-----
`

// params are those of a whole cluster.
func params() Params {
	return Params{
		Version: "v1.36.3",
		Server:  "192.0.2.1:20001", CA: []byte(testCA), ServerName: "demo.default.kqueen.internal",
		PodCIDR: netip.MustParsePrefix("10.244.0.0/16"), ServiceCIDR: netip.MustParsePrefix("10.0.0.0/24"),
		DNS: netip.MustParseAddr("10.0.0.10"), DNSDomain: "cluster.local",
		ClusterName: "demo", CNI: v1alpha1.CNIRoutes, ServiceAddresses: 31, Addons: Choose(v1alpha1.CNIRoutes),
		Images: Images{
			CoreDNS: "registry.k8s.io/coredns/coredns:v1.14.2", KubeProxy: "registry.k8s.io/kube-proxy:v1.36.3",
			MetricsServer: "registry.k8s.io/metrics-server/metrics-server:v0.9.0",
			NodeAgent:     "kqueen.internal/node-agent:v0.1.0-0123456789ab",
			Traefik:       "kqueen.internal/traefik:v3.7.13",
		},
	}
}

// ipv6 turns parameters into those of a cluster of IPv6.
func ipv6(p *Params) {
	p.ServerName = ""
	p.Server = "[2001:db8::1]:20001"
	p.PodCIDR, p.ServiceCIDR = netip.MustParsePrefix("fd00:10:244::/56"), netip.MustParsePrefix("fd00:10:96::/112")
	p.DNS, p.CNI = netip.MustParseAddr("fd00:10:96::a"), v1alpha1.CNINone
}

// flannel turns parameters into those of a cluster with flannel of KQueen's.
func flannel(p *Params) {
	p.CNI, p.Addons, p.Images.Flannel = v1alpha1.CNIFlannel, Choose(v1alpha1.CNIFlannel), "kqueen.internal/flannel:v0.28.10"
}

// flannelUpstream turns them into those of a cluster with upstream's flannel.
func flannelUpstream(p *Params) {
	p.CNI, p.Addons = v1alpha1.CNIFlannel, Choose(v1alpha1.CNIFlannel)
	p.Images.Flannel, p.Images.FlannelPlugin = "ghcr.io/flannel-io/flannel:v0.28.10", "ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel3"
}

func objects(t *testing.T, p Params) []client.Object {
	t.Helper()
	all, err := Objects(p)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestObjects compares all manifests with testdata. Bless a change with: go test -run TestObjects -update
func TestObjects(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(*Params)
	}{
		"cluster":          {"A whole cluster.", func(*Params) {}},
		"ipv6":             {"A cluster of IPv6.", ipv6},
		"flannel":          {"A cluster with flannel.", flannel},
		"flannel-upstream": {"A cluster with flannel from upstream's registry.", flannelUpstream},
		"names":            {"Names that YAML would read as something else.", func(p *Params) { p.ClusterName, p.DNSDomain, p.Server = "true", "1.5", "null:443" }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := params()
			tc.change(&p)
			var b strings.Builder
			for _, object := range objects(t, p) {
				text, err := yaml.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				b.WriteString("---\n" + string(text))
			}
			golden(t, filepath.Join("testdata", name+".golden"), b.String())
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestLivenessProbes: on a host that is busy an answer takes longer than the second that a liveness probe has by default, and the restart of the
// container makes the host busier.
func TestLivenessProbes(t *testing.T) {
	found := 0
	for _, object := range objects(t, params()) {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var workload struct {
			Spec struct{ Template corev1.PodTemplateSpec }
		}
		if err := yaml.Unmarshal(text, &workload); err != nil {
			t.Fatal(err)
		}
		for _, c := range workload.Spec.Template.Spec.Containers {
			if c.LivenessProbe == nil {
				continue
			}
			found++
			if c.LivenessProbe.TimeoutSeconds < 5 {
				t.Errorf("container %s has %d seconds to answer its liveness probe; give it five", c.Name, c.LivenessProbe.TimeoutSeconds)
			}
		}
	}
	if found == 0 {
		t.Error("no container has a liveness probe")
	}
}

// TestObjectsArePure: a caller applies again what has another hash, so the same must be the same.
func TestObjectsArePure(t *testing.T) {
	p := params()
	first, err := kube.Hash(objects(t, p))
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		again, err := kube.Hash(objects(t, p))
		if err != nil {
			t.Fatal(err)
		}
		if first != again {
			t.Fatal("two answers to the same differ")
		}
	}
}

// TestClusterInfoIsLast: a machine that finds cluster-info tries to join, so all that joining takes is there before, and nothing else.
func TestClusterInfoIsLast(t *testing.T) {
	there := false
	for _, o := range objects(t, params()) {
		if addon := o.GetLabels()[v1alpha1.LabelAddon]; Joining(addon) == there {
			t.Errorf("%s of addon %q is on the wrong side of cluster-info", o.GetName(), addon)
		}
		there = there || o.GetNamespace() == "kube-public" && o.GetName() == "cluster-info"
	}
	if !there {
		t.Error("there is no cluster-info")
	}
}

func TestObjectsRefuse(t *testing.T) {
	const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	tests := map[string]struct {
		change func(*Params)
		want   string
	}{
		"Version":        {func(p *Params) { p.Version = "1.36.3" }, "Version: "},
		"VersionPart":    {func(p *Params) { p.Version = "v1.36" }, "Version: "},
		"ServerNoPort":   {func(p *Params) { p.Server = "192.0.2.1" }, "Server: "},
		"ServerURL":      {func(p *Params) { p.Server = "https://192.0.2.1:1" }, "Server: "},
		"ServerPort":     {func(p *Params) { p.Server = "192.0.2.1:0" }, "Server: "},
		"ServerHost":     {func(p *Params) { p.Server = "a b:443" }, "Server: "},
		"CANone":         {func(p *Params) { p.CA = nil }, "CA: "},
		"CAKey":          {func(p *Params) { p.CA = []byte(broken) }, "CA: "},
		"CASecond":       {func(p *Params) { p.CA = []byte(testCA + broken) }, "CA: must be a certificate in PEM: "},
		"ServerName":     {func(p *Params) { p.ServerName = "a b {\n}" }, "ServerName: "},
		"PodCIDR":        {func(p *Params) { p.PodCIDR = netip.Prefix{} }, "PodCIDR: "},
		"ServiceCIDR":    {func(p *Params) { p.ServiceCIDR = netip.MustParsePrefix("10.0.0.1/24") }, "ServiceCIDR: "},
		"DNSNone":        {func(p *Params) { p.DNS = netip.Addr{} }, "DNS: "},
		"DNSOutside":     {func(p *Params) { p.DNS = netip.MustParseAddr("10.0.1.10") }, "DNS: "},
		"DNSDomain":      {func(p *Params) { p.DNSDomain = "a {\n}" }, "DNSDomain: "},
		"ClusterName":    {func(p *Params) { p.ClusterName = "" }, "ClusterName: "},
		"CoreDNS":        {func(p *Params) { p.Images.CoreDNS = "" }, "Images of coredns: "},
		"KubeProxy":      {func(p *Params) { p.Images.KubeProxy = "a\"\nb" }, "Images of kube-proxy: "},
		"CNI":            {func(p *Params) { p.CNI = "calico" }, "CNI: "},
		"CNINone":        {func(p *Params) { p.CNI = "" }, "CNI: "},
		"FlannelIPv6":    {func(p *Params) { flannel(p); ipv6(p); p.CNI = v1alpha1.CNIFlannel }, "CNI: flannel is for IPv4"},
		"Flannel":        {func(p *Params) { p.CNI, p.Addons = v1alpha1.CNIFlannel, Choose(v1alpha1.CNIFlannel) }, "Images of flannel: "},
		"FlannelPlugin":  {func(p *Params) { flannelUpstream(p); p.Images.FlannelPlugin = "a b" }, "Images.FlannelPlugin: "},
		"KubeProxySpace": {func(p *Params) { p.Images.KubeProxy = "a b" }, "Images of kube-proxy: "},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := params()
			tc.change(&p)
			got, err := Objects(p)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") || got != nil {
				t.Errorf("got %v, want one error that begins with %q and nothing else", err, tc.want)
			}
		})
	}
	t.Run("All", func(t *testing.T) {
		_, err := Objects(Params{Addons: Choose(v1alpha1.CNINone)})
		for _, field := range []string{"Version", "Server", "CA", "PodCIDR", "ServiceCIDR", "DNSDomain", "ClusterName", "CNI", "Images of coredns", "Images of kube-proxy"} {
			if err == nil || !strings.Contains(err.Error(), field+": ") {
				t.Errorf("%s is not named in %v", field, err)
			}
		}
	})
}
