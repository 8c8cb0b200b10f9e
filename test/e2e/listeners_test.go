//go:build linux

package e2e

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// listener is a port of the host on which a process of an installation listens.
type listener struct {
	process
	port int
}

func (l listener) String() string {
	return fmt.Sprintf("port %d of %.120s (%s %s)", l.port, l.args[0], l.workload, l.component)
}

// listeners finds all of an installation. Machines listen in networks of their own.
func (i *installation) listeners() []listener {
	i.t.Helper()
	ports := listening(i.t)
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		i.t.Fatal(err)
	}
	var all []listener
	for _, p := range i.processes() {
		dir := filepath.Join("/proc", strconv.Itoa(p.pid))
		if network, err := os.Readlink(filepath.Join(dir, "ns", "net")); err != nil || network != own {
			continue
		}
		open, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			continue // it has ended
		}
		for _, fd := range open {
			at, err := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
			if port := ports[at]; err == nil && port != 0 {
				all = append(all, listener{p, port})
			}
		}
	}
	return all
}

// listening are the ports of this network on which a program listens, by the name of the socket among a process's open files.
func listening(t *testing.T) map[string]int {
	t.Helper()
	const state, listens, inode = 3, "0A", 9
	all := map[string]int{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if len(fields) <= inode || fields[state] != listens {
				continue
			}
			_, port, _ := strings.Cut(fields[1], ":")
			number, err := strconv.ParseInt(port, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			all["socket:["+fields[inode]+"]"] = int(number)
		}
	}
	return all
}

// TestListeners looks for everything of an installation that listens on the host, whose users reach all of it: to a caller
// without a credential none of it tells how it is inside or does anything, and none takes weak TLS.
func TestListeners(t *testing.T) {
	parallel(t, 3*time.Minute)
	i := newInstallation(t)
	i.up("--demo") // with all that may listen
	demonstrates(t, i)
	i.ok("cluster", "create", "demo", "--wait", "--timeout", patience.String())
	all := i.listeners()
	of := map[string]int{}
	for _, l := range all {
		of[l.component]++
		t.Run(fmt.Sprintf("%s %s %d", l.workload, l.component, l.port), func(t *testing.T) { l.asksWhoCalls(t) })
	}
	for _, component := range []string{"", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "simulator"} {
		if of[component] == 0 {
			t.Errorf("of %q no listener was found: the test sees too little", component)
		}
	}
	t.Run("Benchmark", func(t *testing.T) { meetsCIS(t, i, "demo") })
	t.Run("Events", func(t *testing.T) { boundsEvents(t, clientset(t, i.tenant("default", "demo"))) })
	t.Run("AuditLog", func(t *testing.T) { auditsItself(t, i, "demo") })
	t.Run("SecondStore", func(t *testing.T) { overSecondStore(t, i) })
}

// demonstrates looks that an installation is filled, that a second time makes nothing twice, and that a user gets in with the
// password in the file.
func demonstrates(t *testing.T, i *installation) {
	t.Helper()
	list := func() string {
		return i.ok("cluster", "list", "--all-organizations", "--no-headers", "-o", "custom-columns=NAME:.metadata.name,UID:.metadata.uid")
	}
	before := list()
	if n := strings.Count(before, "\n"); n < 12 {
		t.Errorf("there are %d clusters:\n%s", n, before)
	}
	i.up("--demo")
	if after := list(); after != before {
		t.Errorf("a second time:\n%s\nthe first time:\n%s", after, before)
	}
	marked := i.ok("cluster", "list", "--org", "bank", "--selector", "kqueen.io/simulated=true", "--no-headers")
	if strings.Count(marked, "(simulated)") != 4 {
		t.Errorf("simulated clusters of an organization:\n%s", marked)
	}
	passwords, err := os.ReadFile(filepath.Join(i.dir, "demo-users.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(passwords)) {
		if fields := strings.Fields(line); !strings.HasPrefix(line, "#") && len(fields) > 1 {
			i.api().want(http.StatusOK, "POST", "/signin", rest.SignIn{Name: fields[0], Password: fields[1]}, nil)
			return // a sign-in takes a while, on purpose
		}
	}
	t.Errorf("no user has a password: %s", passwords)
}

func (l listener) asksWhoCalls(t *testing.T) {
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(l.port))
	c := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, // what is refused is looked at
	}}
	for _, ask := range []struct{ method, path string }{
		{"GET", "/metrics"}, {"GET", "/debug/pprof/"}, {"GET", "/debug/vars"}, {"GET", "/configz"}, {"GET", "/debug/requests"},
		{"GET", "/api/v1/namespaces"}, {"POST", "/validate/nodepools"}, {"POST", "/v3/kv/range"}, {"POST", "/setup-token"},
	} {
		if (l.component == "gateway" || l.component == "ingress") && ask.path == "/metrics" {
			continue // counts of connections without names: ADR 0023
		}
		for _, scheme := range []string{"http", "https"} {
			req, err := http.NewRequestWithContext(t.Context(), ask.method, scheme+"://"+at+ask.path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Do(req)
			if err != nil {
				continue // it does not listen to such a caller at all
			}
			_ = resp.Body.Close()
			if resp.StatusCode < http.StatusBadRequest {
				t.Errorf("%s answers %s %s by %s with %s", l, ask.method, ask.path, scheme, resp.Status)
			}
		}
	}
	weak := &tls.Config{
		InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS12, // it has to be refused
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
		},
	}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 20 * time.Second}, "tcp", at, weak)
	if err == nil {
		t.Errorf("%s takes %s", l, tls.CipherSuiteName(conn.ConnectionState().CipherSuite))
		_ = conn.Close()
	}
}
