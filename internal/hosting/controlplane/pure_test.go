package controlplane

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/hosting/runner/process"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/supervise"
)

var update = flag.Bool("update", false, "write the golden files anew")

// description is that of a whole cluster, with keys that are new in every run.
func description(t *testing.T) Description {
	t.Helper()
	const uid = "0a1b2c3d-0000-4000-8000-000000000001"
	keyspace, err := datastore.NewKeyspace(uid)
	if err != nil {
		t.Fatal(err)
	}
	store, err := storeSigner()
	if err != nil {
		t.Fatal(err)
	}
	set, err := pki.ControlPlane(pki.ControlPlaneParams{
		UID: uid, DNSDomain: "cluster.local", ServiceCIDR: "10.96.0.0/16", SNIHost: "demo.acme.kqueen.test",
		StoreAuthority: storeAuthority, StoreUser: keyspace.User(),
	})
	if err != nil {
		t.Fatal(err)
	}
	keys, _, err := pki.Issue(nil, set, store.Signer("ca", storeAuthority), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(filepath.Join("testdata", "issuer-ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	const cluster = "0f6b7c5e-6a3f-4c63-9b6a-3a6a0f2f7a10"
	return Description{
		ID:               uid,
		Name:             "org-acme/demo",
		ClusterName:      "acme/demo",
		Cluster:          cluster,
		Network:          v1alpha1.Network{PodCIDR: "10.244.0.0/16", ServiceCIDR: "10.96.0.0/16", DNSDomain: "cluster.local"},
		ServerName:       "demo.acme.kqueen.test",
		AdvertiseAddress: netip.MustParseAddr("192.0.2.1"),
		Keys:             keys,
		EncryptionKeys:   []EncryptionKey{{Secret: []byte("0123456789abcdef0123456789abcdef")}},
		Store:            StoreAccess{Endpoints: []string{"https://127.0.0.1:2379", "https://127.0.0.2:2379"}, CA: store["ca.crt"], Keyspace: keyspace},
		Issuer: &TokenIssuer{
			URL: "https://issuer.kqueen.test", DiscoveryURL: "https://192.0.2.1:8443/issuer/.well-known/openid-configuration",
			CA: authority, Audience: v1alpha1.TokenAudience(cluster),
		},
		Version:      "v1.36.3",
		ClusterAudit: v1alpha1.AuditMetadata,
	}
}

// planes are control planes of each kind.
var planes = map[string]struct {
	reason string
	listen netip.Addr // where a host listens
	change func(*Description)
}{
	"cluster":  {"A whole cluster.", netip.IPv4Unspecified(), func(*Description) {}},
	"baseline": {"A cluster whose pods are bounded.", netip.IPv4Unspecified(), func(d *Description) { d.PodSecurity = v1alpha1.PodSecurityBaseline }},
	"admin": {"A plane on which no pod runs.", netip.MustParseAddr("127.0.0.1"), func(d *Description) {
		d.Own, d.Issuer, d.Cluster, d.WithoutScheduler, d.Controllers = true, nil, "", true, []string{"namespace", "garbagecollector"}
		d.AuditLog, d.Trusted = "/var/lib/kqueen/audit/audit.log", []string{"system:kqueen"}
		d.Webhooks = &ClientCertificate{Certificate: []byte("certificate"), Key: []byte("key")}
	}},
	"copy": {"A copy of what a cluster stores: an API server that calls nothing.", netip.IPv4Unspecified(), func(d *Description) {
		d.Kubelets, d.Allowed = []netip.Addr{netip.MustParseAddr("192.0.2.7")}, []egress.Destination{{}}
		*d = d.detached()
	}},
	"ipv6": {"A cluster of IPv6.", netip.IPv6Unspecified(), func(d *Description) {
		d.Network.PodCIDR, d.Network.ServiceCIDR = "fd00:10:244::/56", "fd00:10:96::/112"
		d.AdvertiseAddress = netip.MustParseAddr("2001:db8::1")
		d.ClusterAudit = v1alpha1.AuditNone
	}},
}

// TestDescribe compares what is described, and the processes that a host makes of it, with testdata. Bless a change with:
// go test -run TestDescribe -update. A change of the processes restarts every control plane when KQueen is upgraded.
func TestDescribe(t *testing.T) {
	for name, tc := range planes {
		t.Run(name, func(t *testing.T) {
			d := description(t)
			tc.change(&d)
			w, err := Describe(d)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Validate(); err != nil {
				t.Errorf("no runner takes it: %v", err)
			}
			golden(t, filepath.Join("testdata", "portable", name+".golden"), portable(w))
			golden(t, filepath.Join("testdata", "describe", name+".golden"), text(onHost(t, w, tc.listen)))
		})
	}
}

// onHost is what runs on a host.
func onHost(t *testing.T, w runner.Workload, listen netip.Addr) supervise.Workload {
	t.Helper()
	place := supervise.Place{
		Dir: "/var/lib/kqueen/run/" + w.ID, Addr: listen,
		Port: map[string]int{PortAPI: 20001, PortControllerManager: 20002, PortScheduler: 20003},
	}
	out, err := process.Describe(w, place, func(p runner.Program) (process.Program, error) {
		return process.Program{Path: "/releases/" + p.Version + "/" + p.Name, HandsOver: true}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Validate(); err != nil {
		t.Errorf("no supervisor takes it: %v", err)
	}
	return out
}

// TestKubeconfigsOnAHost: their content is part of the processes' identity, and it is not in the golden files.
func TestKubeconfigsOnAHost(t *testing.T) {
	d := description(t)
	w, err := Describe(d)
	if err != nil {
		t.Fatal(err)
	}
	want, err := pki.Kubeconfig(pki.KubeconfigParams{
		Cluster: d.ID, Context: "scheduler", User: "scheduler", Server: "https://127.0.0.1:20001",
		CA: d.Keys["ca.crt"], ClientCert: d.Keys["scheduler.crt"], ClientKey: d.Keys["scheduler.key"],
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(onHost(t, w, netip.IPv4Unspecified()).Files[fileScheduler].Data)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// portable writes a description for a reader, without the content of files.
func portable(w runner.Workload) string {
	var b strings.Builder
	for _, p := range w.Ports {
		fmt.Fprintf(&b, "port %s public %v\n", p.Name, p.Public)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Files)) {
		fmt.Fprintf(&b, "file %s secret %v template %v\n", name, w.Files[name].Secret, w.Files[name].Template)
	}
	for _, c := range w.Components {
		fmt.Fprintf(&b, "\ncomponent %s\n  program %s %s\n  after %v\n  restart on %v\n  alone %v, heavy %v, latency sensitive %v\n  ports %v\n  probe %s%s %+v\n  resources %+v\n  grace %v\n",
			c.Name, c.Program.Name, c.Program.Version, c.After, c.RestartOn, c.Alone, c.Heavy, c.LatencySensitive, c.Ports, c.Probe.Port, c.Probe.Path, *c.Probe.TLS, c.Resources, c.StopGrace)
		if c.HandOver != nil {
			fmt.Fprintf(&b, "  hand over %+v\n", *c.HandOver)
		}
		for _, arg := range c.Args {
			b.WriteString("  " + arg + "\n")
		}
	}
	return b.String()
}

// text writes what runs on a host for a reader. Of secret files and those that are new in every run it says only the name.
func text(w supervise.Workload) string {
	var b strings.Builder
	fmt.Fprintf(&b, "subject %+v\n", w.Subject)
	for _, name := range slices.Sorted(maps.Keys(w.Files)) {
		file := w.Files[name]
		fmt.Fprintf(&b, "file %s mode %v\n", name, file.Mode)
		if strings.HasSuffix(name, ".yaml") {
			b.WriteString("  " + strings.ReplaceAll(strings.TrimSpace(string(file.Data)), "\n", "\n  ") + "\n")
		}
	}
	for _, c := range w.Components {
		for i, name := range c.Ports { // made of keys that are new in every run
			if strings.HasPrefix(name, "own-") {
				c.Ports[i] = "own"
			}
		}
		fmt.Fprintf(&b, "\ncomponent %s\n  path %s\n  after %v\n  restart on %v\n  ports %v\n  probe %+v\n  grace %v\n", c.Name, c.Path, c.After, c.RestartOn, c.Ports, *c.Probe, c.StopGrace)
		for _, arg := range c.Args {
			b.WriteString("  " + arg + "\n")
		}
	}
	return b.String()
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

// TestDescribeIsPure: the runner restarts what is described otherwise, so the same must be the same.
func TestDescribeIsPure(t *testing.T) {
	d := description(t)
	first, err := Describe(d)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		again, err := Describe(d)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, again, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
			t.Fatalf("two descriptions of the same differ:\n%s", diff)
		}
	}
}

// TestOnlyBoundedPodsChangeTheDescription: what is privileged is as without a level.
func TestOnlyBoundedPodsChangeTheDescription(t *testing.T) {
	d := description(t)
	before, err := Describe(d)
	if err != nil {
		t.Fatal(err)
	}
	for level, same := range map[string]bool{"": true, v1alpha1.PodSecurityPrivileged: true, v1alpha1.PodSecurityBaseline: false, v1alpha1.PodSecurityRestricted: false} {
		d.PodSecurity = level
		after, err := Describe(d)
		if err != nil {
			t.Fatal(err)
		}
		if portable(before) != portable(after) {
			t.Errorf("%q: more differs than what admission is configured by", level)
		}
		if got := bytes.Equal(before.Files[fileAdmission].Data, after.Files[fileAdmission].Data); got != same {
			t.Errorf("%q: admission is configured as without a level is %t, want %t", level, got, same)
		}
		if !slices.Contains(after.Components[0].RestartOn, fileAdmission) {
			t.Errorf("%q: the API server is not restarted", level)
		}
	}
}

// TestDescribeNamesOnlyItsFiles: every file that an argument, a probe or a restart names has content, what holds a
// private key is told apart, and no argument holds a secret.
func TestDescribeNamesOnlyItsFiles(t *testing.T) {
	d := description(t)
	w, err := Describe(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range w.Components {
		named := append(slices.Clone(c.RestartOn), c.Probe.TLS.CA)
		for _, arg := range c.Args {
			if _, err := runner.Expand(arg, func(r runner.Reference) (string, error) {
				if r.Kind == runner.KindFile {
					named = append(named, r.Name)
				}
				return "", nil
			}); err != nil {
				t.Error(err)
			}
		}
		for _, name := range named {
			if len(w.Files[name].Data) == 0 {
				t.Errorf("%s names the file %s, which is not written", c.Name, name)
			}
		}
		for _, secret := range []string{string(d.EncryptionKeys[0].Secret), "PRIVATE KEY"} {
			if strings.Contains(strings.Join(c.Args, " "), secret) {
				t.Errorf("an argument of %s holds a secret, which every process of the host can read", c.Name)
			}
		}
	}
	for name, f := range w.Files {
		key := base64.StdEncoding.EncodeToString(d.EncryptionKeys[0].Secret)
		private := bytes.Contains(f.Data, []byte("PRIVATE KEY")) || bytes.Contains(f.Data, []byte("client-key-data")) || bytes.Contains(f.Data, []byte(key))
		if private != f.Secret {
			t.Errorf("file %s: holds a secret: %v, is told apart as one: %v", name, private, f.Secret)
		}
	}
}

func TestServerName(t *testing.T) {
	const domain = "kqueen.test"
	tests := []struct{ namespace, name, want string }{
		{"org-acme", "demo", "demo.acme.kqueen.test"},
		{"kqueen-system", "demo", "demo.kqueen-system.ns.kqueen.test"},
		{"org-kqueen-system", "demo", "demo.kqueen-system.kqueen.test"},
		{"org-c", "a-b", "a-b.c.kqueen.test"},
		{"org-b-c", "a", "a.b-c.kqueen.test"},
		{"c", "a-b", "a-b.c.ns.kqueen.test"},
		{"b-c", "a", "a.b-c.ns.kqueen.test"},
		{"org-ns", "a", "a.ns.kqueen.test"},
		{"ns", "a", "a.ns.ns.kqueen.test"},
		{"org-org-x", "a", "a.org-x.kqueen.test"},
		{"org-x", "a", "a.x.kqueen.test"},
		{"x", "a", "a.x.ns.kqueen.test"},
	}
	taken := map[string]string{}
	for _, tc := range tests {
		cp := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: tc.namespace, Name: tc.name}}
		got := serverName(cp, domain)
		if got != tc.want {
			t.Errorf("%s/%s: want %s, got %s", tc.namespace, tc.name, tc.want, got)
		}
		if other := taken[got]; other != "" {
			t.Errorf("%s/%s and %s share the name %s", tc.namespace, tc.name, other, got)
		}
		taken[got] = tc.namespace + "/" + tc.name
	}
}

func TestJudge(t *testing.T) {
	component := func(name string, state health.State, change ...func(*health.Component)) health.Component {
		c := health.Component{Name: name, State: state, StartedAt: time.Now(), NextStart: time.Now()}
		for _, f := range change {
			f(&c)
		}
		return c
	}
	exit := func(e health.Exit) func(*health.Component) {
		e.At = time.Now()
		return func(c *health.Component) { c.LastExit = &e }
	}
	says := func(message string) func(*health.Component) {
		return func(c *health.Component) { c.Message = message }
	}
	klog := "I0203 04:05:05.000001    4711 a.go:1] fine\nE0203 04:05:06.000007    4711 run.go:72] \"command failed\" err=\"no etcd\"\n"
	tests := map[string]struct {
		reason     string
		components []health.Component
		want       string
	}{
		"Ready":          {"All answer.", []health.Component{component("a", health.Ready), component("b", health.Ready)}, "done ComponentsServing: all components answer"},
		"Nothing":        {"What was not started yet is not ready.", nil, "wait ComponentsStarting: waiting for the programs to start"},
		"Starting":       {"Only those that are waited for are named.", []health.Component{component("a", health.Ready), component("b", health.Starting), component("c", health.Waiting, says("for b to be ready"))}, "wait ComponentsStarting: waiting for b, c"},
		"EndedByCode":    {"The last words are quoted, without time and number.", []health.Component{component("a", health.Backoff, exit(health.Exit{Code: 1, Log: klog}))}, `wait ComponentsFailing: a ended with code 1: "command failed" err="no etcd"`},
		"PlainLastWords": {"Words without a head are quoted whole.", []health.Component{component("a", health.Backoff, exit(health.Exit{Code: 2, Log: "Error: [1] bad flag\n"}))}, "wait ComponentsFailing: a ended with code 2: Error: [1] bad flag"},
		"EndedBySignal":  {"A signal is named.", []health.Component{component("a", health.Backoff, exit(health.Exit{Code: -1, Signal: "killed"}))}, "wait ComponentsFailing: a was ended by signal: killed"},
		"NotStarted":     {"A program that cannot be executed.", []health.Component{component("a", health.Backoff, exit(health.Exit{Code: -1, Error: "no such file"}))}, "wait ComponentsFailing: a could not be started: no such file"},
		"PortTaken":      {"A port that another process has.", []health.Component{component("a", health.Backoff, says("port 20001 (api) is taken by another process"))}, "wait ComponentsFailing: a port 20001 (api) is taken by another process"},
		"Restarted":      {"After an end, starting is a failure until it answers.", []health.Component{component("a", health.Starting, exit(health.Exit{Code: 1, Log: "bad"}))}, "wait ComponentsFailing: a ended with code 1: bad and is being restarted"},
		"NotReady":       {"What runs and does not answer.", []health.Component{component("a", health.NotReady, says("500 Internal Server Error: [-]informer-sync failed"))}, "wait ComponentsFailing: a does not answer: 500 Internal Server Error: [-]informer-sync failed"},
		"NotReadyLines":  {"An answer of several lines becomes one.", []health.Component{component("a", health.NotReady, says("500: [+]ping ok\n[-]etcd failed\n"))}, "wait ComponentsFailing: a does not answer: 500: [+]ping ok [-]etcd failed"},
		"Several":        {"All that fail are named.", []health.Component{component("a", health.NotReady), component("b", health.Ready), component("c", health.Backoff)}, "wait ComponentsFailing: a does not answer; c does not answer"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := judge(health.Status{Components: tc.components}); got.String() != tc.want {
				t.Errorf("%s\nwant %s\ngot  %s", tc.reason, tc.want, got)
			}
		})
	}
}

// TestJudgeIsShort: last words of any length and of any bytes stay readable.
func TestJudgeIsShort(t *testing.T) {
	var all []health.Component
	for _, name := range []string{APIServer, ControllerManager, Scheduler} {
		all = append(all, health.Component{Name: name, State: health.Backoff, LastExit: &health.Exit{Code: 1, Log: strings.Repeat("žluťoučký", 300)}})
	}
	got := judge(health.Status{Components: all}).String()
	if len(got) > 1024 || !strings.Contains(got, Scheduler) || strings.ToValidUTF8(got, "?") != got {
		t.Errorf("want at most 1024 whole letters that name every component, got %d: %s", len(got), got)
	}
}

func TestRecordedKubelets(t *testing.T) {
	machine := func(cluster, address string) v1alpha1.Machine {
		return v1alpha1.Machine{Spec: v1alpha1.MachineSpec{ClusterName: cluster}, Status: v1alpha1.MachineStatus{Address: address}}
	}
	got := recorded([]v1alpha1.Machine{
		machine("a", "198.51.100.7"), machine("b", "198.51.100.8"), machine("a", ""), machine("a", "no address"), machine("a", "198.51.100.4"),
	}, "a")
	want := []netip.Addr{netip.MustParseAddr("198.51.100.4"), netip.MustParseAddr("198.51.100.7")}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
