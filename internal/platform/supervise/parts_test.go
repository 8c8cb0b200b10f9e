package supervise

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/health"
)

func TestRotateKeepsOrderAndCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	program, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	rot := Rotation{Limit: 3, Keep: 3}
	for _, s := range []string{"one\n", "two\n", "three\n", "four\n", "five\n", "6\n"} {
		if _, err := program.WriteString(s); err != nil {
			t.Fatal(err)
		}
		if err := rot.rotate(path); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[f.Name()] = string(data)
	}
	want := map[string]string{"x.log": "6\n", "x.log.1": "five\n", "x.log.2": "four\n", "x.log.3": "three\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestTail(t *testing.T) {
	cases := map[string]struct{ reason, log, want string }{
		"Short":    {"all of a short log", "a\nb\n", "a\nb\n"},
		"Exact":    {"a log of just the limit is whole", "12345\n789\n", "12345\n789\n"},
		"Whole":    {"no half lines at the front", "aaaaa\nbbbbbb\ncc\n", "bbbbbb\ncc\n"},
		"LineEnds": {"a line that begins at the limit is whole", "x\n123456789\n", "123456789\n"},
		"LongLine": {"one long line shows its end", "aaaaaaaaaaaaaaaab", "aaaaaaaaab"},
		"Binary":   {"it goes into JSON", "a\xffb", "a?b"},
		"Empty":    {"nothing is nothing", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.log")
			if err := os.WriteFile(path, []byte(tc.log), 0o600); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, tail(path, 10)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if got := tail(filepath.Join(t.TempDir(), "none"), 10); got != "" {
		t.Errorf("missing log: got %q", got)
	}
}

func TestParseStat(t *testing.T) {
	line := "42 (a) R (b)) S 1 42 41 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 1 0 12345" + strings.Repeat(" 0", 29) + " 9"
	got, err := parseStat([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	want := stat{state: 'S', session: 41, flags: 4194560, cpu: 200, start: 12345, status: 9}
	if got != want {
		t.Errorf("want %+v, got %+v", want, got)
	}
}

func FuzzParseStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Add([]byte("1 (x) Z 1 1 1"))
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseStat(b); err == nil && !bytes.Contains(b, []byte{s.state}) {
			t.Errorf("state %q is not in %q", s.state, b)
		}
	})
}

func FuzzParseMarks(f *testing.F) {
	good := marks{instance: "i", workload: "w", component: "c", spec: "s"}
	f.Add([]byte(strings.Join(good.environ(), "\x00")))
	f.Add([]byte("KQUEEN_INSTANCE=i\x00KQUEEN_WORKLOAD=../x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, ok := parseMarks(b)
		if !ok {
			return
		}
		if filepath.Base(m.workload) != m.workload || !filepath.IsLocal(m.workload) {
			t.Errorf("workload %q is no directory name", m.workload)
		}
		if again, ok := parseMarks([]byte(strings.Join(m.environ(), "\x00"))); !ok || again != m {
			t.Errorf("want %+v again, got %+v", m, again)
		}
	})
}

func TestSpecOf(t *testing.T) {
	files := map[string]File{"f": {Data: []byte("1")}, "g": {Data: []byte("1")}}
	base := Component{Path: "/p", Args: []string{"a", "b"}, Env: []string{"E=1"}, RestartOn: []string{"f"}}
	cases := map[string]struct {
		reason string
		change func(c *Component, files map[string]File)
		same   bool
	}{
		"Path":      {"another program", func(c *Component, _ map[string]File) { c.Path = "/q" }, false},
		"ArgsJoin":  {"the border between arguments counts", func(c *Component, _ map[string]File) { c.Args = []string{"ab"} }, false},
		"ArgOrEnv":  {"the border between lists counts", func(c *Component, _ map[string]File) { c.Args, c.Env = []string{"a", "b", "E=1"}, nil }, false},
		"Restart":   {"a file of its identity", func(_ *Component, f map[string]File) { f["f"] = File{Data: []byte("2")} }, false},
		"OtherFile": {"a file it reads again itself", func(_ *Component, f map[string]File) { f["g"] = File{Data: []byte("2")} }, true},
		"Build":     {"what a program is counts instead of where it lies", func(c *Component, _ map[string]File) { c.Build = "b" }, false},
		"Probe":     {"how we look is not what runs", func(c *Component, _ map[string]File) { c.Probe = &Probe{}; c.StopGrace = 1 }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, f := base, map[string]File{"f": files["f"], "g": files["g"]}
			tc.change(&c, f)
			if same := specOf(base, files) == specOf(c, f); same != tc.same {
				t.Errorf("%s: want same=%v", tc.reason, tc.same)
			}
		})
	}
}

// TestSpecOfBuild: a program may move, and another build in its place is another program.
func TestSpecOfBuild(t *testing.T) {
	of := func(path, build string) string { return specOf(Component{Path: path, Build: build}, nil) }
	if of("/p", "1") != of("/q", "1") || of("/p", "1") == of("/p", "2") || of("/p", "") == of("/q", "") {
		t.Error("the path counts with a build, or the build does not")
	}
	args := func(moves map[string]string, args ...string) string {
		return specOf(Component{Path: "/p", Build: "1", Args: args, Moves: moves}, nil)
	}
	if args(map[string]string{"/a": "x"}, "--", "/a") != args(map[string]string{"/b": "x"}, "--", "/b") ||
		args(map[string]string{"/a": "x"}, "/a") == args(map[string]string{"/a": "y"}, "/a") ||
		args(map[string]string{"/a": "x"}, "/a") == args(nil, "/a") || args(map[string]string{"/a": "x"}, "--c=/a") != args(nil, "--c=/a") {
		t.Error("where a file lies that an argument names counts, or what lies there does not")
	}
	// Marks of processes that run: they must not change.
	if got := of("/p", ""); got != specByPath(Component{Path: "/p", Build: "1", Moves: map[string]string{"/a": "x"}}, nil) || specByPath(Component{Path: "/p"}, nil) != "" {
		t.Errorf("the identity by path is %s", got)
	}
}

func TestPlantedSymlinkDoesNotLeadOut(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "pki")); err != nil {
		t.Fatal(err)
	}
	err := writeFiles(t.Context(), dir, map[string]File{"pki/key": {Data: []byte("secret")}})
	left, readErr := os.ReadDir(outside)
	if err == nil || readErr != nil || len(left) != 0 {
		t.Errorf("want an error and nothing outside, got %v, %v, %v", err, left, readErr)
	}
}

func TestDamagedPortsHarmOnlyTheirWorkload(t *testing.T) {
	conf := config(t.TempDir())
	dir := filepath.Join(conf.Dir, "workloads", "a")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ports.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := open(t, conf)
	if _, err := r.Reserve(t.Context(), "a", []string{"api"}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("want the damage told, got %v", err)
	}
	if _, err := r.Reserve(t.Context(), "b", []string{"api"}); err != nil {
		t.Errorf("another workload: %v", err)
	}
	file := filepath.Join(dir, "ports.json")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if place, err := r.Reserve(t.Context(), "a", []string{"api"}); err == nil {
		t.Errorf("what was damaged and is removed gets the port %v, which no client knows", place.Port)
	}
	if err := os.WriteFile(file, []byte(`{"api":20999}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if place, err := r.Reserve(t.Context(), "a", []string{"api", "more"}); err != nil || place.Port["api"] != 20999 || place.Port["more"] == 0 {
		t.Errorf("with the file restored it has %v, %v, want the ports in it and one more", place.Port, err)
	}
	if gone, err := r.Remove(t.Context(), "a", 0); err != nil || !gone {
		t.Fatalf("want gone, got %v, %v", gone, err)
	}
	if _, err := r.Reserve(t.Context(), "a", []string{"api"}); err != nil {
		t.Errorf("after Remove: %v", err)
	}
}

// TestPortsOfIdentities: one that is gone gives its port back when another one needs one, and one that listens keeps it.
func TestPortsOfIdentities(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	reserve := func(names ...string) Place {
		t.Helper()
		place, err := r.Reserve(t.Context(), "a", names)
		if err != nil {
			t.Fatal(err)
		}
		return place
	}
	first, second, third := PortOf("own", "1"), PortOf("own", "2"), PortOf("own", "3")
	place := reserve("api", first, PortOf("health", "1"))
	l, err := net.Listen("tcp", netip.AddrPortFrom(place.Addr, uint16(place.Port[first])).String())
	if err != nil {
		t.Fatal(err)
	}
	reserve(second)
	if got := reserve(second, third).Port; got[first] != place.Port[first] || got[second] == 0 {
		t.Errorf("want that the first one, which listens, and the second one, which is asked for, stay: %v", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"api", PortOf("health", "1"), PortOf("own", "4")}
	slices.Sort(want)
	reserve(PortOf("own", "4"))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(reserve().Port))); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestPortsRunOut(t *testing.T) {
	conf := config(t.TempDir())
	conf.Ports = freePorts(t, 2)
	r := open(t, conf)
	if _, err := r.Reserve(t.Context(), "a", []string{"1", "2", "3"}); err == nil {
		t.Error("three of two: want an error")
	}
	if _, err := r.Reserve(t.Context(), "b", []string{"1", "2"}); err != nil {
		t.Errorf("the refused call must hold nothing: %v", err)
	}
}

// TestPortsOfLoopback: a supervisor that is told to listen elsewhere gives no port at which another program listens at the loopback address:
// its data stores would listen there.
func TestPortsOfLoopback(t *testing.T) {
	conf := config(t.TempDir())
	conf.Ports = freePorts(t, 2)
	l, err := net.Listen("tcp", netip.AddrPortFrom(loopback, conf.Ports.First).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	place, err := open(t, conf).Reserve(t.Context(), "a", []string{"1"})
	if err != nil || place.Port["1"] != int(conf.Ports.Last) {
		t.Errorf("reserved %v, %v; want %d, the only one that is free", place.Port, err, conf.Ports.Last)
	}
}

// TestPortsOfAnotherSupervisor: what one has reserved no other one of the host gets, though no program listens there yet, and whatever
// address the other one listens at.
func TestPortsOfAnotherSupervisor(t *testing.T) {
	conf := config(t.TempDir())
	conf.Ports = freePorts(t, 4)
	other := conf
	other.Dir, other.Listen = t.TempDir(), config("").Listen
	one, two := open(t, conf), open(t, other)
	first, err := one.Reserve(t.Context(), "a", []string{"1", "2"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := two.Reserve(t.Context(), "a", []string{"1", "2"})
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Values(first.Port))
	if got = append(got, slices.Collect(maps.Values(second.Port))...); len(slices.Compact(slices.Sorted(slices.Values(got)))) != 4 {
		t.Errorf("two supervisors reserved %v", got)
	}
	if _, err := two.Reserve(t.Context(), "b", []string{"1"}); err == nil {
		t.Error("a fifth port of four was found")
	}
	// What is given back, or was of one that is closed and reserves again, is free.
	if _, err := one.Remove(t.Context(), "a", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Reserve(t.Context(), "b", []string{"1", "2"}); err != nil {
		t.Errorf("after the first has given its ports back: %v", err)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Reserve(t.Context(), "c", []string{"1"}); err != nil {
		t.Errorf("after the second was closed: %v", err)
	}
	again := open(t, other)
	if place, err := again.Reserve(t.Context(), "b", []string{"1", "2"}); err != nil || len(place.Port) != 2 {
		t.Errorf("a supervisor that comes back has %v, %v", place.Port, err)
	}
}

// keyPair makes a certificate for 127.0.0.1 that signs itself.
func keyPair(t *testing.T) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"api.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// TestHTTPSProbe starts with a CA that does not fit and then gives the right one: a file the probe reads again, and no
// reason to restart.
func TestHTTPSProbe(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	conf.Timing.FastStart = time.Hour // it reads the files again, and would hide what is tested
	r := open(t, conf)
	cert, key := keyPair(t)
	wrong, _ := keyPair(t)
	w := server(t, r, "a", "-tls", "pki")
	w.Files = map[string]File{"pki/tls.crt": {Data: cert}, "pki/tls.key": {Data: key}, "ca": {Data: wrong}}
	p := w.Components[0].Probe
	p.URL, p.CAFile, p.ServerName = strings.Replace(p.URL, "http:", "https:", 1), "ca", "api.test"
	apply(t, r, w)
	s := await(t, r, "a", func(s Status) bool {
		c, _ := s.Component("api")
		return c.State == health.Starting && strings.Contains(c.Message, "x509")
	})
	before, _ := s.Component("api")
	w.Files["ca"] = File{Data: cert}
	apply(t, r, w)
	if c := awaitState(t, r, "a", "api", health.Ready); c.PID != before.PID {
		t.Errorf("want no restart: %+v, then %+v", before, c)
	}
}

func TestProbeShowsItsCertificate(t *testing.T) {
	cert, key := keyPair(t)
	dir := t.TempDir()
	for name, data := range map[string][]byte{"c": cert, "k": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.PeerCertificates[0].Subject.CommonName != "test" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // the refusal is wanted
	srv.StartTLS()
	defer srv.Close()
	cases := map[string]struct {
		reason string
		probe  Probe
		ok     bool
	}{
		"With":    {"the server wants a certificate", Probe{CAFile: "c", CertFile: "c", KeyFile: "k", ServerName: "api.test"}, true},
		"Without": {"or refuses", Probe{CAFile: "c", ServerName: "api.test"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			client, err := newProbeClient(dir, &tc.probe, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if err := ask(t.Context(), client, srv.URL); (err == nil) != tc.ok {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}
