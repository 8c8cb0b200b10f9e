package controlplane

import (
	"io/fs"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/cis"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

// found is what a host would run for a description, and the etcd beside it.
func found(t *testing.T, d Description) cis.Found {
	t.Helper()
	w, err := Describe(d)
	if err != nil {
		t.Fatal(err)
	}
	host := onHost(t, w, netip.MustParseAddr("127.0.0.1"))
	f := cis.Found{Programs: map[string]cis.Program{}, Files: map[string]cis.File{"/data/etcd": {Mode: fs.ModeDir | 0o700}, "/etcd/ca.crt": {Mode: 0o600, Data: d.Store.CA}}}
	for _, c := range host.Components {
		f.Programs[c.Name] = cis.Program{Args: c.Args}
	}
	for name, file := range host.Files {
		mode := file.Mode
		if mode == 0 {
			mode = 0o600
		}
		f.Files[filepath.Join("/var/lib/kqueen/run", w.ID, name)] = cis.File{Mode: mode, Data: file.Data}
	}
	args, err := datastore.ServerArgs(datastore.ServerConfig{
		Name: "default", DataDir: "/data/etcd", ClientPort: 1, PeerPort: 2, CertFile: "/etcd/server.crt", KeyFile: "/etcd/server.key", ClientCAFile: "/etcd/ca.crt",
		PeerCertFile: "/etcd/peer.crt", PeerKeyFile: "/etcd/peer.key", PeerCAFile: "/etcd/peer-ca.crt",
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Programs["etcd"] = cis.Program{Args: args}
	return f
}

// problems are the items of which something has to change.
func problems(f cis.Found) []string {
	var all []string
	for _, r := range cis.Check(f) {
		if r.Problem != nil {
			all = append(all, r.Number+" "+r.Problem.Error())
		}
	}
	return all
}

// TestBenchmark holds what is described for a cluster against the CIS Kubernetes Benchmark. An end-to-end test does so with
// what runs.
func TestBenchmark(t *testing.T) {
	d := description(t)
	for _, d.ClusterAudit = range []string{v1alpha1.AuditMetadata, v1alpha1.AuditRequestResponse} {
		if got := problems(found(t, d)); len(got) > 0 {
			t.Errorf("the benchmark asks for more of %s:\n%s", d.ClusterAudit, strings.Join(got, "\n"))
		}
	}
}

// TestBenchmarkSeesChanges: the table finds what is not as it asks for.
func TestBenchmarkSeesChanges(t *testing.T) {
	without := func(program, prefix string) func(cis.Found) {
		return func(f cis.Found) {
			p := f.Programs[program]
			p.Args = slices.DeleteFunc(slices.Clone(p.Args), func(a string) bool { return strings.HasPrefix(a, prefix) })
			f.Programs[program] = p
		}
	}
	with := func(program, arg string) func(cis.Found) {
		return func(f cis.Found) {
			p := f.Programs[program]
			p.Args = append(slices.Clone(p.Args), arg)
			f.Programs[program] = p
		}
	}
	changed := func(suffix string, change func(*cis.File)) func(cis.Found) {
		return func(f cis.Found) {
			for path, file := range f.Files {
				if strings.HasSuffix(path, suffix) {
					change(&file)
					f.Files[path] = file
				}
			}
		}
	}
	for number, change := range map[string]func(cis.Found){
		"1.1.11": changed("/data/etcd", func(f *cis.File) { f.Mode |= 0o070 }),
		"1.1.12": changed("/data/etcd", func(f *cis.File) { f.Owner = 7 }),
		"1.1.15": changed("/scheduler.conf", func(f *cis.File) { f.Mode = 0o644 }),
		"1.1.18": changed("/controller-manager.conf", func(f *cis.File) { f.Owner = 7 }),
		"1.1.19": changed("/sa.key", func(f *cis.File) { f.Owner = 7 }),
		"1.1.20": changed("/ca.crt", func(f *cis.File) { f.Mode = 0o644 }),
		"1.1.21": changed("/sa.key", func(f *cis.File) { f.Mode, f.Group = 0o640, 7 }),
		"1.2.1": changed("/authentication.yaml", func(f *cis.File) {
			f.Data = []byte(strings.Replace(string(f.Data), "- path: /livez", "- path: /metrics", 1))
		}),
		"1.2.2":  with("kube-apiserver", "--token-auth-file=/x"),
		"1.2.3":  with("kube-apiserver", "--enable-admission-plugins=NodeRestriction"),
		"1.2.6":  with("kube-apiserver", "--authorization-mode=AlwaysAllow"),
		"1.2.9":  changed("/admission.yaml", func(f *cis.File) { f.Data = []byte("plugins: []") }),
		"1.2.13": with("kube-apiserver", "--disable-admission-plugins=NamespaceLifecycle"),
		"1.2.17": without("kube-apiserver", "--audit-log-maxage"),
		"3.2.2": changed("/audit-policy.yaml", func(f *cis.File) {
			f.Data = []byte(strings.ReplaceAll(string(f.Data), "- secrets", "- pods"))
		}),
		"1.2.28": changed("/encryption.yaml", func(f *cis.File) { f.Data = []byte("providers:\n- identity: {}\n- secretbox: {}\n") }),
		"1.2.29": with("kube-apiserver", "--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA"),
		"1.2.30": without("kube-apiserver", endsOnTime),
		"1.3.1":  without("kube-controller-manager", terminatedPods),
		"1.4.2":  with("kube-scheduler", "--bind-address=0.0.0.0"),
		"2.3":    with("etcd", "--auto-tls"),
		"2.7":    changed("/ca.crt", func(f *cis.File) { f.Data = []byte("the same") }),
	} {
		t.Run(number, func(t *testing.T) {
			f := found(t, description(t))
			change(f)
			if got := problems(f); !slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, number+" ") }) {
				t.Errorf("nothing is said of it, but: %q", got)
			}
		})
	}
}
